import { defineTool } from "@countersign/engine/tool.ts";
import { listSections, listTasks, type Task } from "@countersign/ops/tasks.ts";
import { tellRuns } from "@countersign/ops/visible.ts";
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
    const { workspaceId, userId, shown } = context;
    const { tasks, isMore, sections } = await context.read(async (tx) => {
      const listed = await listTasks(tx, { workspaceId, userId, section, limit: mostTasks });
      tellRuns(
        shown,
        listed.tasks.map(({ runId, title }) => [runId, title]),
      );
      return { ...listed, sections: section === undefined ? [] : await listSections(tx, { workspaceId, userId }) };
    });
    const place = section === undefined ? "the queue" : `section "${section}"`;
    if (tasks.length === 0) {
      const others = sections.length === 0 ? "" : ` Sections with open tasks: ${sections.join(", ")}.`;
      return { kind: "done", content: `There are no open tasks in ${place}.${others}` };
    }
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
