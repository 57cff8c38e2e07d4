import { defineTool } from "@countersign/engine/tool.ts";
import { putTask } from "@countersign/ops/tasks.ts";
import { z } from "zod";
import { storableLine } from "./plain-text.ts";

const cardSection = "needs-confirm";

const schema = z.strictObject({
  title: storableLine(300),
  section: storableLine(60)
    .refine(
      (section) => section !== cardSection,
      `the section ${cardSection} is kept for cards, which nobody creates by hand`,
    )
    .optional()
    .describe("The section of the queue; up-next unless given"),
});

/** Puts a task into the queue. */
export const tasksCreate = defineTool<z.infer<typeof schema>>({
  name: "tasks.create",
  description: "Puts a task into the queue that people and agents share. It asks nobody for permission.",
  schema,
  tier: "write",
  risk: "low",
  needsApproval: false,
  effect: "transactional",
  async execute({ title, section = "up-next" }, { tx, workspaceId, runId, callId }) {
    const put = await putTask(tx, { id: callId, workspaceId, title, section, createdBy: `run:${runId}`, runId });
    if (put.kind === "mismatch")
      return { kind: "failed", content: `Task ${callId} is another task already. Nothing was changed.` };
    return { kind: "done", content: `Created task ${put.id} in section "${section}": ${title}` };
  },
});
