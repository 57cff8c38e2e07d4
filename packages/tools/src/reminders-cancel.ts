import { defineTool } from "@countersign/engine/tool.ts";
import { cancelReminder } from "@countersign/ops/reminders.ts";
import { tellRuns } from "@countersign/ops/visible.ts";
import { z } from "zod";

const schema = z.strictObject({ id: z.uuid().describe("From reminders.list") });

/** Cancels a reminder whose time has not come. */
export const remindersCancel = defineTool<z.infer<typeof schema>>({
  name: "reminders.cancel",
  description: "Cancels a reminder that still waits for its time.",
  schema,
  tier: "write",
  risk: "low",
  needsApproval: false,
  effect: "transactional",
  async execute({ id }, { tx, workspaceId, userId, runId, shown }) {
    const result = await cancelReminder(tx, { workspaceId, userId, id, canceledBy: `run:${runId}` });
    if ("reminder" in result) tellRuns(shown, [[result.reminder.runId, result.reminder.text]]);
    switch (result.kind) {
      case "canceled":
        return { kind: "done", content: `Reminder ${id} is canceled: ${result.reminder.text}` };
      case "closed": {
        const { status, text } = result.reminder;
        const how = status === "reminded" ? "its time came and it is a task" : "it was canceled before";
        return { kind: "failed", content: `Reminder ${id} ("${text}") is closed: ${how}. Nothing was changed.` };
      }
      case "hidden":
        return {
          kind: "failed",
          content: `Reminder ${id} is of a run that read pages which are closed to you. Leave it to somebody who may read them. Nothing was changed.`,
        };
      case "missing":
        return { kind: "failed", content: `There is no reminder ${id}. Take an id from reminders.list.` };
    }
  },
});
