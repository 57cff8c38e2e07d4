import { instant } from "@countersign/gate/storable.ts";
import { listSections, readDoneLog } from "@countersign/ops/tasks.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { readActors } from "../queries/actors.ts";
import { hideInText } from "../queries/hide-secrets.ts";
import { actorSchema, answers, moment, pageQuery } from "../shapes/common.ts";

const sections = createRoute({
  method: "get",
  path: "/tasks/sections",
  summary: "The sections of the queue in which something is open",
  responses: answers("Their names", z.object({ sections: z.array(z.string()) })),
});

const doneLog = createRoute({
  method: "get",
  path: "/tasks/done-log",
  summary: "What was done, by whom, latest first; cards are not part of it",
  request: { query: z.object({ since: instant.optional(), ...pageQuery }) },
  responses: answers(
    "A page of the log",
    z.object({
      done: z.array(
        z
          .object({
            id: z.string(),
            section: z.string(),
            title: z.string(),
            doneAt: moment,
            doneBy: actorSchema,
          })
          .openapi("DoneTask"),
      ),
      nextCursor: z.string().nullable(),
    }),
  ),
});

/** What the queue holds by section, and what was done of it. */
export function createTaskLogRoutes({ sql }: ServerDependencies) {
  return new OpenAPIHono<AppEnv>()
    .openapi(sections, async (c) => c.json({ sections: await listSections(sql, c.get("actor")) }, 200))
    .openapi(doneLog, async (c) => {
      const { workspaceId, userId } = c.get("actor");
      const { since, cursor, limit } = c.req.valid("query");
      const name = `done-log.${since ?? "ever"}`;
      const cursorId = decodeCursor(name, cursor);
      const from = since === undefined ? undefined : new Date(since);
      const { tasks } = await readDoneLog(sql, { workspaceId, userId, since: from, cursorId, limit: limit + 1 });
      const { rows, nextCursor } = pageOf(c, name, tasks, limit);
      const nameOf = await readActors(
        sql,
        workspaceId,
        rows.map(({ doneBy }) => doneBy),
      );
      return c.json(
        {
          done: rows.map(({ runId: _runId, ...task }) => ({
            ...task,
            title: hideInText(task.title),
            doneBy: nameOf(task.doneBy),
          })),
          nextCursor,
        },
        200,
      );
    });
}
