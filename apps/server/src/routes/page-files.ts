import { transaction } from "@countersign/db/transaction.ts";
import { analyzeGrown } from "@countersign/kb/analyze-grown.ts";
import { exportPages, listExportPaths } from "@countersign/kb/export-pages.ts";
import { importPage, type ImportPageResult } from "@countersign/kb/import-page.ts";
import { lockRenames } from "@countersign/kb/rename-everywhere.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageBy } from "../cursor.ts";
import { transactOnce } from "../idempotency.ts";
import { writerOf } from "../page-actor.ts";
import { answers, idempotencyHeaders, jsonBody, pageQuery } from "../shapes/common.ts";
import { directory, exportSchema, importBody, importedSchema } from "../shapes/pages.ts";

const importFiles = createRoute({
  method: "post",
  path: "/import",
  summary: "Import Markdown files as pages; one that was imported before is merged into its page",
  request: { headers: idempotencyHeaders, body: jsonBody(importBody) },
  responses: answers("What came of each file", importedSchema),
});

const exportFiles = createRoute({
  method: "get",
  path: "/export",
  summary: "Pages as Markdown files; one that was imported and not changed is the same file, byte for byte",
  request: { query: z.object({ dir: directory.default(""), ...pageQuery }) },
  responses: answers("A page of files", exportSchema),
});

/** Of a conflict that many are shown, with that much of each text. */
const mostClashes = 20;
const mostOfText = 500;

/** Pages as files. */
export function createPageFileRoutes(deps: ServerDependencies) {
  const { sql } = deps;
  return new OpenAPIHono<AppEnv>()
    .openapi(importFiles, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "operator", "Importing pages");
      const { dir, files } = c.req.valid("json");
      const imported = await transactOnce(c, deps, async (tx) => {
        // What one file locks another batch may want, so batches take turns, before any page is locked.
        await lockRenames(writerOf(actor, tx));
        const done = [];
        for (const { path, text, from } of files) {
          const file = { dir: join(dir, path), fileName: path.split("/").at(-1) ?? "", source: text, from };
          done.push({ path, ...showResult(await importPage(writerOf(actor, tx), file)) });
        }
        return { files: done };
      });
      await analyzeGrown(sql);
      return c.json(imported, 200);
    })
    .openapi(exportFiles, async (c) => {
      const { dir, cursor, limit } = c.req.valid("query");
      const afterId = decodeCursor("export", cursor);
      const read = await transaction(
        sql,
        async (tx) => {
          const reader = writerOf(c.get("actor"), tx);
          // By id, so that it goes on behind a page that is gone meanwhile too.
          const paths = (await listExportPaths(reader, { dir }))
            .filter(({ pageId }) => afterId === undefined || pageId > afterId)
            .toSorted((a, b) => (a.pageId < b.pageId ? -1 : 1));
          const some = paths.slice(0, limit);
          const exported = await exportPages(reader, some);
          return { exported, last: some.at(-1), isMore: limit < paths.length };
        },
        { isReadOnly: true, isolation: "repeatable read" },
      );
      const { exported, last, isMore } = read;
      const ends = isMore && last !== undefined ? [last, last] : [];
      const { nextCursor } = pageBy(c, "export", ends, 1, ({ pageId }) => pageId);
      return c.json({ files: exported, nextCursor }, 200);
    });
}

/** The directory of a path below another, as it is written: what is odd in it is for the import to refuse. */
function join(dir: string, path: string): string {
  const own = path.split("/").slice(0, -1).join("/");
  return [dir.split("/").filter(Boolean).join("/"), own].filter((part) => part !== "").join("/");
}

function showResult(result: ImportPageResult) {
  switch (result.kind) {
    case "skipped":
      return { outcome: result.kind, pageId: null, nodeCount: 0, from: null, notes: [result.reason] };
    case "conflict":
      return {
        outcome: result.kind,
        pageId: result.page.id,
        nodeCount: 0,
        from: null,
        notes: [result.reason],
        clashes: result.clashes.slice(0, mostClashes).map(({ nodeId, ours, theirs }) => ({
          nodeId,
          page: ours?.slice(0, mostOfText) ?? null,
          file: theirs?.slice(0, mostOfText) ?? null,
        })),
      };
    default:
      return {
        outcome: result.kind,
        pageId: result.page.id,
        nodeCount: result.nodeCount,
        from: result.from,
        notes: [...result.warnings],
      };
  }
}
