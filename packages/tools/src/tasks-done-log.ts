import { defineTool } from "@countersign/engine/tool.ts";
import { instant } from "@countersign/gate/storable.ts";
import { readDoneLog } from "@countersign/ops/tasks.ts";
import { tellRuns } from "@countersign/ops/visible.ts";
import { z } from "zod";

const mostTasks = 100;

const day = z.iso
  .date()
  .refine((date) => instant.safeParse(`${date}T00:00:00Z`).success, "expected a year from 1970 to 2999");

const schema = z.strictObject({
  since: z
    .union([instant, day])
    .optional()
    .describe("A time with its offset, such as 2026-01-31T09:00:00Z, or a date (UTC)"),
});

/** What was done since a time, latest first. */
export const tasksDoneLog = defineTool<z.infer<typeof schema>>({
  name: "tasks.doneLog",
  description: "Lists the tasks that were done, latest first, since a time or ever.",
  schema,
  tier: "read",
  needsApproval: false,
  effect: "read-only",
  async execute({ since }, context) {
    const from = since === undefined ? undefined : new Date(since);
    const { workspaceId, userId, shown } = context;
    const { tasks, isMore } = await context.read(async (tx) => {
      const log = await readDoneLog(tx, { workspaceId, userId, since: from, limit: mostTasks });
      tellRuns(
        shown,
        log.tasks.map(({ runId, title }) => [runId, title]),
      );
      return log;
    });
    const span = since === undefined ? "" : ` since ${since}`;
    if (tasks.length === 0) return { kind: "done", content: `No task was done${span}.` };
    const lines = tasks.map(
      (task) => `- ${task.doneAt.toISOString()} [${task.section}] ${task.title} (by ${task.doneBy}, id ${task.id})`,
    );
    const end = isMore
      ? `Truncated: the latest ${mostTasks} are shown and there are earlier ones; give a later since.`
      : `${tasks.length} done${span}.`;
    return { kind: "done", content: [...lines, end].join("\n") };
  },
});
