import { defineTool } from "@countersign/engine/tool.ts";
import { listTasks, type Task } from "@countersign/ops/tasks.ts";
import { z } from "zod";
import { storableLine } from "./plain-text.ts";

const mostTasks = 100;
const schema = z.strictObject({
  section: storableLine(60).optional().describe("One section only, such as up-next"),
});

/** The open tasks and cards of the queue. */
export const tasksList = defineTool<z.infer<typeof schema>>({
  name: "tasks.list",
  description:
    "Lists the open tasks of the queue, oldest first, with their ids. Cards, which wait for a person's decision or answer, are listed too.",
  schema,
  tier: "read",
  needsApproval: false,
  effect: "read-only",
  async execute({ section }, context) {
    const { tasks, isMore } = await context.read((tx) =>
      listTasks(tx, { workspaceId: context.workspaceId, section, limit: mostTasks }),
    );
    const place = section === undefined ? "the queue" : `section "${section}"`;
    if (tasks.length === 0) return { kind: "done", content: `There are no open tasks in ${place}.` };
    const end = isMore
      ? `Truncated: the oldest ${mostTasks} are shown and there are more; ask for one section.`
      : `${tasks.length} open in ${place}.`;
    return { kind: "done", content: [...tasks.map(describeTask), end].join("\n") };
  },
});

function describeTask({ id, kind, section, title, createdAt }: Task): string {
  const card = kind === "task" ? "" : ` (card: ${kind}, for a person)`;
  return `- ${id} [${section}] ${title}${card}, since ${createdAt.toISOString()}`;
}
