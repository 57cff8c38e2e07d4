import { defineTool } from "@countersign/engine/tool.ts";
import { instant } from "@countersign/gate/storable.ts";
import { addReminder } from "@countersign/ops/reminders.ts";
import { z } from "zod";
import { storableLine } from "./plain-text.ts";

const schema = z.strictObject({
  text: storableLine(300).describe("What to be reminded of"),
  at: instant.describe("When, with its offset, such as 2026-01-31T09:00:00+01:00"),
});

/** Adds a reminder; when it is due the heartbeat makes it a task. */
export const remindersAdd = defineTool<z.infer<typeof schema>>({
  name: "reminders.add",
  description: "Adds a reminder. When its time comes it becomes a task in the queue, once, within about a minute.",
  schema,
  tier: "write",
  risk: "low",
  needsApproval: false,
  effect: "transactional",
  async execute({ text, at }, { tx, workspaceId, userId, runId, callId }) {
    const dueAt = new Date(at);
    await addReminder(tx, { id: callId, workspaceId, text, dueAt, userId, createdBy: `run:${runId}`, runId });
    return { kind: "done", content: `Reminder ${callId} is set for ${dueAt.toISOString()}: ${text}` };
  },
});
