import type { Sql, Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { visiblePages, writablePages } from "@countersign/kb/scope.ts";
import { deleteFile, type FileReference } from "@countersign/ops/delete-file.ts";
import { readCapture } from "@countersign/ops/captures.ts";
import type { StoredFile } from "@countersign/ops/files.ts";
import { listClosedRuns } from "@countersign/ops/visible.ts";
import { type Actor, requireSelfOrAdmin } from "./auth.ts";
import { mayNotChange, writerOf } from "./page-actor.ts";
import { Problem, type ProblemDetails } from "./problem.ts";
import { appendAudit } from "./queries/audit.ts";

type Reference = NonNullable<ProblemDetails["references"]>[number];

/**
 * Deletes a file that the actor was found to see, with its audit row: for whoever brought it, or whose run did, and for
 * administrators; a file of a page for those who may change that page. A file that something refers to stays.
 */
export async function removeFile(sql: Sql, actor: Actor, file: StoredFile): Promise<{ isContentGone: boolean }> {
  return await transaction(sql, async (tx) => {
    requireSelfOrAdmin(actor, await ownerOf(tx, file), "whoever brought the file, or whose run did,", "Deleting it");
    if (file.pageId !== null) {
      const [page] = await tx`select from ${writablePages(writerOf(actor, tx))} p where id = ${file.pageId}`;
      if (page === undefined) throw mayNotChange(file.pageId);
    }
    const result = await deleteFile(tx, actor.workspaceId, file.id);
    switch (result.kind) {
      case "missing":
        throw new Problem("not_found", `There is no file ${file.id} in this workspace.`);
      case "referenced":
        throw inUse(file, await nameReferences(tx, actor, result.by));
      case "deleted": {
        const { hash, size, pageId, createdBy } = result.file;
        const { isContentGone } = result;
        await appendAudit(tx, actor, "file.deleted", file.id, { hash, size, pageId, createdBy, isContentGone });
        return { isContentGone };
      }
    }
  });
}

async function ownerOf(tx: Tx, { createdBy, runId }: StoredFile): Promise<string> {
  if (runId === null) return createdBy.replace(/^user:/, "");
  const [run] = await tx<{ startedBy: string }[]>`select started_by as "startedBy" from runs where id = ${runId}`;
  return run?.startedBy ?? "";
}

/** What refers to the file, by name; of what the actor may not see only that there is one. */
async function nameReferences(tx: Tx, actor: Actor, by: readonly FileReference[]): Promise<Reference[]> {
  const pageIds = by.flatMap((reference) => (reference.kind === "page" ? [reference.pageId] : []));
  const pages = await tx<{ id: string; title: string }[]>`
    select id, title from ${visiblePages(writerOf(actor, tx))} p where id = any(${pageIds}::uuid[])`;
  const titles = new Map(pages.map(({ id, title }) => [id, title]));
  const seen = new Set<string>();
  for (const reference of by) {
    if (reference.kind !== "capture") continue;
    if ((await readCapture(tx, actor, reference.captureId)) !== undefined) seen.add(reference.captureId);
  }
  const calls = by.flatMap((reference) => (reference.kind === "call" ? [reference.runId] : []));
  const closed = await listClosedRuns(tx, actor, calls);
  return by.map((reference) => {
    switch (reference.kind) {
      case "page": {
        const name = titles.get(reference.pageId) ?? null;
        return { kind: "page", id: name === null ? null : reference.pageId, name };
      }
      case "capture":
        return seen.has(reference.captureId)
          ? { kind: "capture", id: reference.captureId, name: reference.title }
          : { kind: "capture", id: null, name: null };
      case "call":
        if (closed.has(reference.runId)) return { kind: "call", id: null, name: null };
        return { kind: "call", id: reference.callId, name: `${reference.tool} of run ${reference.runId}` };
    }
  });
}

function inUse(file: StoredFile, references: readonly Reference[]): Problem {
  const told = references.map(({ kind, name }) =>
    name === null ? `a ${kind} that you may not see` : `${kind} ${kind === "call" ? name : JSON.stringify(name)}`,
  );
  return new Problem(
    "file_in_use",
    `${JSON.stringify(file.name)} is referred to by ${told.join(", ")}. Nothing was deleted; take the reference away first.`,
    { references },
  );
}
