import { defineTool } from "@countersign/engine/tool.ts";
import { listReminders } from "@countersign/ops/reminders.ts";
import { tellRuns } from "@countersign/ops/visible.ts";
import { z } from "zod";

const mostReminders = 100;
const schema = z.strictObject({});

/** The reminders that wait for their time. */
export const remindersList = defineTool<z.infer<typeof schema>>({
  name: "reminders.list",
  description: "Lists the reminders that still wait for their time, the next first, with their ids.",
  schema,
  tier: "read",
  needsApproval: false,
  effect: "read-only",
  async execute(_args, context) {
    const { workspaceId, userId, shown } = context;
    const found = await context.read(async (tx) => {
      const listed = await listReminders(tx, { workspaceId, userId, status: "pending", limit: mostReminders });
      tellRuns(
        shown,
        listed.map(({ runId, text }) => [runId, text]),
      );
      return listed;
    });
    if (found.length === 0) return { kind: "done", content: "No reminder is set." };
    const lines = found.slice(0, mostReminders).map(({ id, text, dueAt }) => `- ${id} ${dueAt.toISOString()} ${text}`);
    const end =
      found.length > mostReminders ? `Truncated: the next ${mostReminders} are shown.` : `${found.length} in all.`;
    return { kind: "done", content: [...lines, end].join("\n") };
  },
});
