import { transaction } from "@countersign/db/transaction.ts";
import { type Need, visiblePages, writablePages } from "@countersign/kb/scope.ts";
import { listFiles, readVisibleFile, type StoredFile } from "@countersign/ops/files.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { answerContent } from "../answer-content.ts";
import { type Actor, requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { removeFile } from "../delete-file.ts";
import { mayNotChange, noPage, writerOf } from "../page-actor.ts";
import { Problem } from "../problem.ts";
import { readActors } from "../queries/actors.ts";
import { answers, idParam, pageQuery, storableLine, uuid } from "../shapes/common.ts";
import { deletedFileSchema, fileListSchema, fileSchema, type ShownFile } from "../shapes/files.ts";
import { upload, usualMostFileBytes } from "../upload.ts";

const hash = z.string().regex(/^[0-9a-f]{64}$/, "expected the sha256 of the content, 64 hexadecimal digits");
const bytes = z.string().openapi({ format: "binary" });

const put = createRoute({
  method: "put",
  path: "/uploads/{hash}",
  summary: "Store a file; its content is the body, its type the Content-Type",
  request: {
    params: z.object({ hash }),
    query: z.object({
      name: storableLine(200),
      page: uuid.optional().openapi({ description: "The page it belongs to" }),
    }),
  },
  responses: answers("The file; the same upload again gives the same file", fileSchema),
});

const list = createRoute({
  method: "get",
  path: "/files",
  summary: "The files of a page, or those that belong to none, newest first",
  request: { query: z.object({ page: uuid.optional(), ...pageQuery }) },
  responses: answers("A page of files", fileListSchema),
});

const get = createRoute({
  method: "get",
  path: "/files/{id}",
  summary: "What is known of a file",
  request: { params: idParam },
  responses: answers("The file", fileSchema),
});

const content = createRoute({
  method: "get",
  path: "/files/{id}/content",
  summary: "The content of a file, checked against its hash before the end of it is sent",
  request: { params: idParam },
  responses: {
    ...answers("", z.object({})),
    200: { description: "The content", content: { "application/octet-stream": { schema: bytes } } },
  },
});

const remove = createRoute({
  method: "delete",
  path: "/files/{id}",
  summary: "Delete a file that nothing refers to, and its content where nothing else has it",
  request: { params: idParam },
  responses: answers("The file is deleted", deletedFileSchema),
});

/** Whether a request may have a body of any size, which its route then bounds, and take any time. */
export function isUpload(method: string, path: string): boolean {
  return method === "PUT" && path.startsWith("/v1/uploads/");
}

/** Files: content that people and agents stored under names. */
export function createFileRoutes({ sql, log, mostFileBytes = usualMostFileBytes }: ServerDependencies) {
  /** Refuses with 404 where the actor sees no such page, and with 403 where it is to be changed and may only be read. */
  async function requirePage(actor: Actor, pageId: string, need: Need): Promise<void> {
    const [page] = await transaction(
      sql,
      (tx) => tx<{ mayWrite: boolean }[]>`
        select id in (select id from ${writablePages(writerOf(actor, tx))} w) as "mayWrite"
          from ${visiblePages(writerOf(actor, tx))} p where id = ${pageId}::uuid`,
      { isReadOnly: true },
    );
    if (page === undefined) throw noPage(pageId);
    if (need === "write" && !page.mayWrite) throw mayNotChange(pageId);
  }

  async function findFile(actor: Actor, id: string): Promise<StoredFile> {
    const file = await readVisibleFile(sql, actor, id);
    if (file === undefined) throw new Problem("not_found", `There is no file ${id} in this workspace.`);
    return file;
  }

  async function show(actor: Actor, files: readonly StoredFile[]): Promise<ShownFile[]> {
    const nameOf = await readActors(
      sql,
      actor.workspaceId,
      files.map(({ createdBy }) => createdBy),
    );
    return files.map(({ hash: sha256, createdBy, ...file }) => ({
      ...file,
      handle: `sha256:${sha256}`,
      createdBy: nameOf(createdBy),
    }));
  }

  async function showOne(actor: Actor, file: StoredFile): Promise<ShownFile> {
    const [shown] = await show(actor, [file]);
    if (shown === undefined) throw new Error(`The file ${file.id} is not shown`);
    return shown;
  }

  const routes = new OpenAPIHono<AppEnv>();
  // Described here and handled as a plain route: the types of described routes know no streams.
  routes.openAPIRegistry.registerPath(content);
  return routes
    .openapi(put, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "operator", "Storing a file");
      const { name, page: pageId } = c.req.valid("query");
      if (pageId !== undefined) await requirePage(actor, pageId, "write");
      const stored = await upload(
        sql,
        {
          workspaceId: actor.workspaceId,
          userId: actor.userId,
          hash: c.req.valid("param").hash,
          name,
          pageId,
          mediaType: c.req.header("content-type"),
          contentLength: c.req.header("content-length"),
          body: c.req.raw.body,
        },
        mostFileBytes,
      );
      return c.json(await showOne(actor, stored), 200);
    })
    .openapi(list, async (c) => {
      const actor = c.get("actor");
      const { page: pageId, cursor, limit } = c.req.valid("query");
      const name = `files.${pageId ?? "all"}`;
      const cursorId = decodeCursor(name, cursor);
      if (pageId !== undefined) await requirePage(actor, pageId, "read");
      const read = await listFiles(sql, {
        workspaceId: actor.workspaceId,
        userId: actor.userId,
        pageId,
        cursorId,
        limit,
      });
      const { rows, nextCursor } = pageOf(c, name, read, limit);
      return c.json({ files: await show(actor, rows), nextCursor }, 200);
    })
    .openapi(get, async (c) => {
      const actor = c.get("actor");
      return c.json(await showOne(actor, await findFile(actor, c.req.valid("param").id)), 200);
    })
    .openapi(remove, async (c) => {
      const actor = c.get("actor");
      const { id } = c.req.valid("param");
      const file = await findFile(actor, id);
      requireRole(actor, "operator", "Deleting a file");
      const { isContentGone } = await removeFile(sql, actor, file);
      return c.json({ id, outcome: "deleted" as const, isContentGone }, 200);
    })
    .get("/files/:id/content", async (c) => {
      const actor = c.get("actor");
      const id = uuid.safeParse(c.req.param("id"));
      if (!id.success) {
        throw new Problem("invalid_request", "param.id: expected the id of a file", {
          errors: [{ path: "param.id", message: "expected the id of a file" }],
        });
      }
      const file = await findFile(actor, id.data);
      return await answerContent(c, { sql, log }, { workspaceId: actor.workspaceId, ...file });
    });
}
