import { defineTool } from "@countersign/engine/tool.ts";
import { completeTask } from "@countersign/ops/tasks.ts";
import { tellRuns } from "@countersign/ops/visible.ts";
import { z } from "zod";

const schema = z.strictObject({ id: z.uuid().describe("From tasks.list") });

/** Marks a task done. Cards are refused: a person's decision or answer resolves them, never an agent. */
export const tasksDone = defineTool<z.infer<typeof schema>>({
  name: "tasks.done",
  description: "Marks a task of the queue done. Cards cannot be marked done: they wait for a person.",
  schema,
  tier: "write",
  risk: "low",
  needsApproval: false,
  effect: "transactional",
  async execute({ id }, { tx, workspaceId, userId, runId, shown }) {
    const result = await completeTask(tx, { workspaceId, userId, id, doneBy: `run:${runId}` });
    if ("title" in result) tellRuns(shown, [[result.runId, result.title]]);
    switch (result.kind) {
      case "completed":
        return { kind: "done", content: `Task ${id} is done: ${result.title}` };
      case "closed":
        return {
          kind: "failed",
          content: `Task ${id} ("${result.title}") is already closed: ${result.status}. Nothing was changed.`,
        };
      case "card":
        return {
          kind: "failed",
          content: `${id} ("${result.title}") is a card: it stands for ${result.of === "question" ? "a question" : "an approval"} that waits for a person, and only a person resolves it. Nothing was changed.`,
        };
      case "hidden":
        return {
          kind: "failed",
          content: `Task ${id} is of a run that read pages which are closed to you. Leave it to somebody who may read them. Nothing was changed.`,
        };
      case "missing":
        return { kind: "failed", content: `There is no task ${id}. Take an id from tasks.list.` };
    }
  },
});
