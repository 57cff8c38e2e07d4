import type { Queryable } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { type AccessRule, deleteAccessRule, listAccessRules, setAccessRule } from "@countersign/kb/access-rules.ts";
import { directoryKeyOf } from "@countersign/kb/directories.ts";
import { type Reader, visiblePages } from "@countersign/kb/scope.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { noPage, writerOf } from "../page-actor.ts";
import { Problem } from "../problem.ts";
import { readActors } from "../queries/actors.ts";
import { appendAudit } from "../queries/audit.ts";
import { answers, idParam, jsonBody } from "../shapes/common.ts";
import { accessRuleListSchema, accessRuleSchema, directory, newAccessRuleSchema } from "../shapes/pages.ts";

const list = createRoute({
  method: "get",
  path: "/access-rules",
  summary: "Who may read and change which directories and pages; what no rule names is open to all",
  request: {
    query: z.object({
      dir: directory.optional().openapi({ description: "Only those of this directory, however it is written" }),
    }),
  },
  responses: answers("The rules", accessRuleListSchema),
});

const put = createRoute({
  method: "put",
  path: "/access-rules",
  summary: "Set what somebody, or everybody, may do in a directory or with a page",
  request: { body: jsonBody(newAccessRuleSchema) },
  responses: answers("The rule", accessRuleSchema),
});

const remove = createRoute({
  method: "delete",
  path: "/access-rules/{id}",
  summary: "Remove a rule",
  request: { params: idParam },
  responses: answers("The rule is removed", z.object({ id: z.string(), outcome: z.literal("removed") })),
});

/** Access to directories and pages, in the hands of administrators. Nobody reads around a rule, but they may change it. */
export function createAccessRuleRoutes({ sql }: ServerDependencies) {
  return new OpenAPIHono<AppEnv>()
    .openapi(list, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", "Listing access rules");
      const { dir } = c.req.valid("query");
      const key = dir === undefined ? undefined : directoryKeyOf(dir);
      const rules = await transaction(
        sql,
        async (tx) => {
          const reader = writerOf(actor, tx);
          const all = await listAccessRules(reader);
          return await show(reader, key === undefined ? all : all.filter((rule) => isOf(rule, key)));
        },
        { isReadOnly: true },
      );
      return c.json({ rules }, 200);
    })
    .openapi(put, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", "Setting an access rule");
      const { workspaceId } = actor;
      const { dir = null, pageId = null, userId = null, level } = c.req.valid("json");
      const stored = await transaction(sql, async (tx) => {
        const writer = writerOf(actor, tx);
        if (pageId !== null && !(await isThere(tx, "pages", workspaceId, pageId))) throw noPage(pageId);
        if (userId !== null && !(await isThere(tx, "users", workspaceId, userId))) {
          throw new Problem("not_found", `There is no user ${userId} in this workspace. GET /v1/users lists them.`);
        }
        const { levelBefore, ...rule } = await setAccessRule(writer, { dir, pageId, userId, level });
        await appendAudit(tx, actor, "access_rule.set", rule.id, { ...saidBy(rule), levelBefore });
        return await show(writer, [rule]);
      });
      const [shown] = stored;
      if (shown === undefined) throw new Error("A rule is not there after it was set");
      return c.json(shown, 200);
    })
    .openapi(remove, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", "Removing an access rule");
      const { id } = c.req.valid("param");
      await transaction(sql, async (tx) => {
        const gone = await deleteAccessRule(writerOf(actor, tx), id);
        if (gone === undefined) {
          throw new Problem(
            "not_found",
            `There is no access rule ${id} in this workspace. GET /v1/access-rules lists them.`,
          );
        }
        await appendAudit(tx, actor, "access_rule.removed", id, saidBy(gone));
      });
      return c.json({ id, outcome: "removed" as const }, 200);
    });
}

function saidBy({ dir, pageId, userId, level }: AccessRule) {
  return { dir, pageId, userId, level };
}

async function isThere(sql: Queryable, table: "pages" | "users", workspaceId: string, id: string): Promise<boolean> {
  const found = await sql`select from ${sql(table)} where workspace_id = ${workspaceId} and id = ${id}::uuid`;
  return found.length > 0;
}

/** The rules with names: of people, and of pages that the reader sees. */
async function show(reader: Reader, rules: readonly AccessRule[]) {
  const { tx, workspaceId } = reader;
  const texts = rules.flatMap(({ userId, createdBy }) => [
    userId === null ? null : `user:${userId}`,
    `user:${createdBy}`,
  ]);
  const nameOf = await readActors(tx, workspaceId, texts);
  const pageIds = rules.flatMap(({ pageId }) => (pageId === null ? [] : [pageId]));
  const pages = await tx<{ id: string; title: string }[]>`
    select id, title from ${visiblePages(reader)} p where id = any(${pageIds}::uuid[])`;
  const titles = new Map(pages.map(({ id, title }) => [id, title]));
  return rules.map(({ userId, createdBy, ...rule }) => ({
    ...rule,
    pageTitle: rule.pageId === null ? null : (titles.get(rule.pageId) ?? null),
    user: userId === null ? null : nameOf(`user:${userId}`),
    createdBy: nameOf(`user:${createdBy}`),
  }));
}

function isOf({ dir }: AccessRule, key: string): boolean {
  return dir !== null && directoryKeyOf(dir) === key;
}
