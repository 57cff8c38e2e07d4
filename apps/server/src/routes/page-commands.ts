import type { Queryable } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { listHistory, type PastCommand, readCommand } from "@countersign/kb/list-history.ts";
import { undoCommand } from "@countersign/kb/undo-command.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { transactOnce } from "../idempotency.ts";
import { writerOf } from "../page-actor.ts";
import { Problem } from "../problem.ts";
import { readActors } from "../queries/actors.ts";
import { answers, idempotencyParameter, idParam, pageQuery, uuid } from "../shapes/common.ts";
import { commandDetailSchema, commandListSchema, type Edited, editedSchema } from "../shapes/pages.ts";

const list = createRoute({
  method: "get",
  path: "/commands",
  summary: "The changes of pages that you may read, newest first; of one page or one run",
  request: { query: z.object({ page: uuid.optional(), run: uuid.optional(), ...pageQuery }) },
  responses: answers("A page of changes", commandListSchema),
});

const get = createRoute({
  method: "get",
  path: "/commands/{id}",
  summary: "One change of a page, with what it changed",
  request: { params: idParam },
  responses: answers("The change", commandDetailSchema),
});

const undo = createRoute({
  method: "post",
  path: "/commands/{id}/undo",
  summary: "Take a change of a page back, where what it changed is still as it left it",
  parameters: [idempotencyParameter],
  request: { params: idParam },
  responses: answers("It is taken back", editedSchema),
});

/** The history of pages: one log of commands, of people and agents alike. */
export function createPageCommandRoutes(deps: ServerDependencies) {
  const { sql } = deps;

  return new OpenAPIHono<AppEnv>()
    .openapi(list, async (c) => {
      const actor = c.get("actor");
      const { page: pageId, run: runId, cursor, limit } = c.req.valid("query");
      const name = `commands.${pageId ?? "all"}.${runId ?? "all"}`;
      const beforeId = decodeCursor(name, cursor);
      const read = await transaction(
        sql,
        (tx) => listHistory(writerOf(actor, tx), { pageId, runId, beforeId, limit: limit + 1 }),
        { isReadOnly: true },
      );
      const { rows, nextCursor } = pageOf(c, name, read, limit);
      return c.json({ commands: await show(sql, actor.workspaceId, rows), nextCursor }, 200);
    })
    .openapi(get, async (c) => {
      const actor = c.get("actor");
      const { id } = c.req.valid("param");
      const command = await transaction(sql, (tx) => readCommand(writerOf(actor, tx), id), { isReadOnly: true });
      const [shown] = command === undefined ? [] : await show(sql, actor.workspaceId, [command]);
      if (command === undefined || shown === undefined) throw noCommand(id);
      return c.json({ ...shown, before: copyState(command.before), after: copyState(command.after) }, 200);
    })
    .openapi(undo, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "operator", "Taking a change back");
      const { id } = c.req.valid("param");
      const undone = await transactOnce(c, deps, async (tx): Promise<Edited> => {
        const result = await undoCommand(writerOf(actor, tx), id);
        switch (result.kind) {
          case "undone":
            return {
              outcome: "changed",
              pageId: result.page.id,
              revision: result.page.revision,
              commandId: result.commandId,
              isMerged: false,
              added: 0,
              changed: 0,
              removed: 0,
              renamedLinks: 0,
              warnings: [],
            };
          case "missing":
            throw noCommand(id);
          case "already":
            throw new Problem("cannot_undo", "This change has been taken back already. Nothing was changed by you.");
          case "conflict":
            throw new Problem(
              "cannot_undo",
              `This change cannot be taken back: ${result.reason}. Nothing was changed.`,
            );
        }
      });
      return c.json(undone, 200);
    });
}

async function show(sql: Queryable, workspaceId: string, commands: readonly PastCommand[]) {
  const nameOf = await readActors(
    sql,
    workspaceId,
    commands.map(({ userId }) => `user:${userId}`),
  );
  return commands.map(({ id, pageId, pageTitle, revision, kind, userId, runId, callId, at, undoes, undoneBy }) => ({
    id,
    pageId,
    pageTitle,
    revision,
    kind,
    by: nameOf(`user:${userId}`),
    runId,
    callId,
    at,
    undoes,
    undoneBy,
  }));
}

function copyState({ page, nodes }: NonNullable<Awaited<ReturnType<typeof readCommand>>>["before"]) {
  return {
    ...(page === undefined ? {} : { page: { ...page } }),
    ...(nodes === undefined
      ? {}
      : { nodes: nodes.map(({ id, parentId, kind, text }) => ({ id, parentId, kind, text })) }),
  };
}

function noCommand(id: string): Problem {
  return new Problem("not_found", `There is no change ${id} of a page in this workspace. GET /v1/commands lists them.`);
}
