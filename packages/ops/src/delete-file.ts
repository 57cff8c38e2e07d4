import type { Tx } from "@countersign/db/connect.ts";
import { lockFileSpace } from "./file-space.ts";
import { readFile, type StoredFile } from "./files.ts";

/**
 * What refers to a file: a page whose text or frontmatter names it, the capture it is the picture of, a call that is still
 * to run, as the model asked for it or as people changed it.
 */
export type FileReference =
  | { readonly kind: "page"; readonly pageId: string }
  | { readonly kind: "capture"; readonly captureId: string; readonly title: string }
  | { readonly kind: "call"; readonly runId: string; readonly callId: string; readonly tool: string };

export type DeleteFileResult =
  /** `isContentGone`: nothing else needed the content, so that it went too. */
  | { readonly kind: "deleted"; readonly file: StoredFile; readonly isContentGone: boolean }
  /** Nothing was deleted; at most 10 of each kind are named. */
  | { readonly kind: "referenced"; readonly file: StoredFile; readonly by: readonly FileReference[] }
  | { readonly kind: "missing" };

const mostNamed = 10;

/**
 * Deletes a file, and its content where no other file, no capture and no result of a call has it. A page, a capture or a
 * call still to run that names the file keeps it; one that names its content, by its handle, where that would go. Who may
 * delete is for the caller to say.
 */
export async function deleteFile(tx: Tx, workspaceId: string, fileId: string): Promise<DeleteFileResult> {
  await lockFileSpace(tx, workspaceId);
  const file = await readFile(tx, workspaceId, fileId);
  if (file === undefined) return { kind: "missing" };
  // Whoever is about to need the content takes a lock of this row, and waits; what has it by now is counted.
  await tx`select from blobs where workspace_id = ${workspaceId} and hash = ${file.hash} for update`;
  const isContentGone = !(await isContentKept(tx, workspaceId, file));
  const names = isContentGone ? [file.id, file.hash] : [file.id];
  const by = await listReferences(tx, workspaceId, file.id, names);
  if (by.length > 0) return { kind: "referenced", file, by };
  await tx`delete from files where workspace_id = ${workspaceId} and id = ${file.id}`;
  if (isContentGone) {
    await tx`delete from blob_chunks where workspace_id = ${workspaceId} and hash = ${file.hash}`;
    await tx`delete from blobs where workspace_id = ${workspaceId} and hash = ${file.hash}`;
  }
  return { kind: "deleted", file, isContentGone };
}

async function isContentKept(tx: Tx, workspaceId: string, { id, hash }: StoredFile): Promise<boolean> {
  const [kept] = await tx<{ isKept: boolean }[]>`
    select exists (select from files where workspace_id = ${workspaceId} and hash = ${hash} and id <> ${id})
        or exists (select from captures where workspace_id = ${workspaceId} and hash = ${hash})
        or exists (select from tool_calls c join runs r on r.id = c.run_id
                    where c.result_blob = ${hash} and r.workspace_id = ${workspaceId}) as "isKept"`;
  return kept?.isKept === true;
}

async function listReferences(
  tx: Tx,
  workspaceId: string,
  fileId: string,
  names: readonly string[],
): Promise<FileReference[]> {
  const patterns = names.map((name) => `%${name}%`);
  const pages = await tx<{ kind: "page"; pageId: string }[]>`
    select 'page' as kind, p.id as "pageId"
      from pages p
     where p.workspace_id = ${workspaceId} and p.removed_at is null
       and (p.frontmatter ilike any (${patterns}::text[])
            or p.id in (select n.page_id from nodes n
                         where n.workspace_id = ${workspaceId} and n.text ilike any (${patterns}::text[])))
     limit ${mostNamed}`;
  const captures = await tx<{ kind: "capture"; captureId: string; title: string }[]>`
    select 'capture' as kind, id as "captureId", title
      from captures where workspace_id = ${workspaceId} and screenshot_file_id = ${fileId} order by id limit ${mostNamed}`;
  const calls = await tx<{ kind: "call"; runId: string; callId: string; tool: string }[]>`
    select 'call' as kind, c.run_id as "runId", c.id as "callId", c.tool
      from runs r
      join tool_calls c     on c.run_id = r.id
      left join approvals a on a.id = c.approval_id
     where r.workspace_id = ${workspaceId} and r.status in ('queued', 'running', 'paused')
       and c.status in ('requested', 'waiting', 'executing', 'unknown')
       and (concat_ws(' ', c.args, c.run_args, a.edited_args) like any (${patterns}::text[])
            or exists (select from votes v where v.approval_id = a.id and v.choice like any (${patterns}::text[])))
     order by c.id limit ${mostNamed}`;
  return [...pages, ...captures, ...calls];
}
