import { defineTool } from "@countersign/engine/tool.ts";
import { beat } from "@countersign/ops/heartbeat.ts";
import { closedText, listClosedRuns } from "@countersign/ops/visible.ts";
import { z } from "zod";

const schema = z.strictObject({});

/** Makes tasks of what is due now, as the schedule does each minute. No model is asked. */
export const opsHeartbeat = defineTool<z.infer<typeof schema>>({
  name: "ops.heartbeat",
  description:
    "Looks now for reminders that are due and for calendar events to prepare for, and makes a task of each, once. The same happens each minute by itself.",
  schema,
  tier: "write",
  risk: "low",
  needsApproval: false,
  effect: "transactional",
  async execute(_args, { tx, workspaceId, userId, shown }) {
    const { tasks, isMore } = await beat(tx, workspaceId);
    if (tasks.length === 0) return { kind: "done", content: "Nothing is due." };
    const setBy = tasks.flatMap(({ runId }) => runId ?? []);
    const closed = await listClosedRuns(tx, { workspaceId, userId }, setBy);
    for (const runId of setBy) if (!closed.has(runId)) shown.runs.add(runId);
    const lines = tasks.map(({ id, title, about, runId }) => {
      const told = runId !== null && closed.has(runId) ? closedText : title;
      return `- ${id} ${told} (${about})`;
    });
    const end = isMore ? "There may be more; ask again." : `${tasks.length} due.`;
    return { kind: "done", content: [...lines, end].join("\n") };
  },
});
