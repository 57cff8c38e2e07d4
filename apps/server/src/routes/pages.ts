import { transaction } from "@countersign/db/transaction.ts";
import { applyOkf } from "@countersign/kb/apply-okf.ts";
import { createPage } from "@countersign/kb/create-page.ts";
import { listPages, readListedPage } from "@countersign/kb/list-pages.ts";
import { movePage } from "@countersign/kb/move-page.ts";
import { listLinked } from "@countersign/kb/page-links.ts";
import { viewPage } from "@countersign/kb/read-linked.ts";
import { removePage } from "@countersign/kb/remove-node.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeTitleCursor, pageBy, titleKeyOf } from "../cursor.ts";
import { transactOnce } from "../idempotency.ts";
import { readVersion } from "../if-match.ts";
import { mayNotChange, noPage, showEdit, writerOf } from "../page-actor.ts";
import { Problem } from "../problem.ts";
import { answers, idempotencyHeaders, idParam, jsonBody, pageQuery, storableLine } from "../shapes/common.ts";
import {
  directory,
  type Edited,
  editedSchema,
  newPageSchema,
  okfBody,
  pageListSchema,
  pageMoveSchema,
  pageSchema,
} from "../shapes/pages.ts";

const mostLinks = 200;
/** It has a title in it. */
const longestCursor = 4_000;

const list = createRoute({
  method: "get",
  path: "/pages",
  summary: "Pages of the knowledge base that you may read, by title",
  request: {
    query: z.object({
      dir: directory.optional().openapi({ description: "Only those right in this directory" }),
      name: storableLine(300).optional().openapi({ description: "Only those of this title or alias" }),
      removed: z.enum(["true", "false"]).default("false").openapi({ description: "Those that were removed instead" }),
      ...pageQuery,
      cursor: z.string().max(longestCursor).optional().openapi({ description: "From `nextCursor` or `Link`" }),
    }),
  },
  responses: answers("A page of pages", pageListSchema),
});

const create = createRoute({
  method: "post",
  path: "/pages",
  summary: "Make a page",
  request: { headers: idempotencyHeaders, body: jsonBody(newPageSchema) },
  responses: answers("The page is made", editedSchema),
});

const get = createRoute({
  method: "get",
  path: "/pages/{id}",
  summary: "A page with its text, its nodes and its links, its revision as ETag",
  request: {
    params: idParam,
    query: z.object({
      ids: z
        .enum(["true", "false"])
        .default("true")
        .openapi({ description: "Whether bullets have their ids in the text" }),
    }),
  },
  responses: answers("The page", pageSchema),
});

const put = createRoute({
  method: "put",
  path: "/pages/{id}",
  summary: "Change a page: send it as it shall be; what is as it was keeps its ids",
  request: {
    params: idParam,
    headers: z.object({
      "if-match": z.string().optional().openapi({
        description:
          '`"<revision>"` of the page you read; required. Where it moved on since, both changes are put together',
      }),
    }),
    body: jsonBody(okfBody),
  },
  responses: answers("What has changed", editedSchema),
});

const move = createRoute({
  method: "patch",
  path: "/pages/{id}",
  summary: "Give a page another title, in the links to it too, or another directory",
  request: { params: idParam, body: jsonBody(pageMoveSchema) },
  responses: answers("What has changed", editedSchema),
});

const remove = createRoute({
  method: "delete",
  path: "/pages/{id}",
  summary: "Remove a page; undoing the command brings it back",
  request: { params: idParam },
  responses: answers("The page is removed", editedSchema),
});

/** Pages of the knowledge base. */
export function createPageRoutes(deps: ServerDependencies) {
  const { sql } = deps;

  return new OpenAPIHono<AppEnv>()
    .openapi(list, async (c) => {
      const { dir, name, removed, cursor, limit } = c.req.valid("query");
      const isRemoved = removed === "true";
      const listName = `pages.${removed}`;
      const after = decodeTitleCursor(listName, cursor);
      const read = await transaction(
        sql,
        (tx) => listPages(writerOf(c.get("actor"), tx), { dir, name, isRemoved, after, limit: limit + 1 }),
        { isReadOnly: true },
      );
      const { rows, nextCursor } = pageBy(c, listName, read, limit, titleKeyOf);
      return c.json({ pages: rows.map(copyNames), nextCursor }, 200);
    })
    .openapi(create, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "operator", "Making a page");
      const { title, dir, okf } = c.req.valid("json");
      const made = await transactOnce(c, deps, async (tx): Promise<Edited> => {
        const result = await createPage(writerOf(actor, tx), { title, dir, okf });
        if (result.kind === "refused") throw new Problem("unfit_page", result.reason);
        if (result.kind === "exists") {
          throw new Problem("name_taken", `There already is a page "${result.page.title}" (${result.page.id}).`);
        }
        const { page, commandId, nodeCount, warnings } = result;
        return {
          ...nothing,
          outcome: "created",
          pageId: page.id,
          revision: page.revision,
          commandId,
          added: nodeCount,
          warnings: [...warnings],
        };
      });
      return c.json(made, 200);
    })
    .openapi(get, async (c) => {
      const { id } = c.req.valid("param");
      const withIds = c.req.valid("query").ids === "true";
      const shown = await transaction(
        sql,
        async (tx) => {
          const reader = writerOf(c.get("actor"), tx);
          const head = await readListedPage(reader, id);
          const view = head && (await viewPage(reader, id, { withIds }));
          return view && { head, view, links: await listLinked(reader, id, mostLinks) };
        },
        { isReadOnly: true, isolation: "repeatable read" },
      );
      if (shown === undefined) throw noPage(id);
      const { head, view, links } = shown;
      c.header("ETag", `"${view.page.revision}"`);
      const nodes = view.page.nodes.map(({ id: nodeId, parentId, kind, text }) => ({
        id: nodeId,
        parentId,
        kind,
        text,
      }));
      const named = links.map(({ id: linkedId, title, names }) => ({ id: linkedId, title, names: [...names] }));
      const backlinks = [...view.backlinks];
      return c.json({ ...copyNames(head), okf: view.okf, nodes, links: named, backlinks }, 200);
    })
    .openapi(put, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "operator", "Changing a page");
      const { id } = c.req.valid("param");
      const revision = readRevision(c.req.valid("header")["if-match"], id);
      const { okf } = c.req.valid("json");
      const edited = await transaction(sql, async (tx) => {
        const writer = writerOf(actor, tx);
        if ((await readListedPage(writer, id)) === undefined) throw noPage(id);
        return showEdit(await applyOkf(writer, { page: id, okf, revision }));
      });
      return c.json(edited, 200);
    })
    .openapi(move, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "operator", "Moving a page");
      const { id } = c.req.valid("param");
      const { title, dir } = c.req.valid("json");
      const edited = await transaction(sql, async (tx): Promise<Edited> => {
        const writer = writerOf(actor, tx);
        if ((await readListedPage(writer, id)) === undefined) throw noPage(id);
        const result = await movePage(writer, { pageId: id, title, dir });
        if (result.kind === "forbidden") throw mayNotChange(id);
        if (result.kind === "refused") throw new Problem("unfit_page", result.reason);
        const { page } = result;
        const renamedLinks = result.kind === "moved" ? result.renamedLinks : 0;
        const outcome = result.kind === "moved" ? "changed" : "unchanged";
        return { ...nothing, outcome, pageId: id, revision: page.revision, renamedLinks };
      });
      return c.json(edited, 200);
    })
    .openapi(remove, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "operator", "Removing a page");
      const { id } = c.req.valid("param");
      const removed = await transaction(sql, async (tx): Promise<Edited> => {
        const writer = writerOf(actor, tx);
        if ((await readListedPage(writer, id)) === undefined) throw noPage(id);
        const result = await removePage(writer, id);
        if (result.kind !== "removed") throw mayNotChange(id);
        const { page, commandId, nodeCount } = result;
        return { ...nothing, outcome: "removed", pageId: id, revision: page.revision, commandId, removed: nodeCount };
      });
      return c.json(removed, 200);
    });
}

const nothing = { commandId: null, isMerged: false, added: 0, changed: 0, removed: 0, renamedLinks: 0, warnings: [] };

function copyNames<T extends { readonly labels: readonly string[]; readonly aliases: readonly string[] }>(page: T) {
  return { ...page, labels: [...page.labels], aliases: [...page.aliases] };
}

function readRevision(ifMatch: string | undefined, id: string): number {
  if (ifMatch !== undefined) return readVersion(ifMatch);
  throw new Problem(
    "precondition_required",
    `A change says which revision it was made on: send the header If-Match with the ETag of GET /v1/pages/${id}.`,
  );
}
