import type { Tx } from "@countersign/db/connect.ts";

/** Who reads: all that is read is confined to this workspace, and to what this person may see in it. */
export interface Reader {
  readonly tx: Tx;
  readonly workspaceId: string;
  /** For a run, its user. */
  readonly userId: string;
  /** Where the functions of this package leave which pages, and directories by their keys, their answers tell of. */
  readonly shown?: { readonly pages: Set<string>; readonly dirs: Set<string> };
}

/** Afterwards the reader is known to have been told of these pages. */
export function showPages({ shown }: Reader, ids: Iterable<string>): void {
  if (shown !== undefined) for (const id of ids) shown.pages.add(id);
}

/** Who writes. A run writes as its user, and its commands name the call that did it. */
export interface Writer extends Reader {
  readonly call?: { readonly runId: string; readonly callId: string };
  /** False for a program that writes without a call: it may not say that a person verified something. */
  readonly isPerson?: boolean;
}

/** What a person may do with a page. */
export type Need = "read" | "write";

/** The pages that `reader` may see, to select from in place of the table. Every query of pages goes through here. */
export function visiblePages(reader: Reader) {
  return reader.tx`(select * from ${reachablePages(reader, "read")} r where removed_at is null)`;
}

/** The pages that `reader` may change. */
export function writablePages(reader: Reader) {
  return reader.tx`(select * from ${reachablePages(reader, "write")} r where removed_at is null)`;
}

/** As `visiblePages` or `writablePages`, with the pages that were removed and can be brought back. */
export function reachablePages({ tx, workspaceId, userId }: Reader, need: Need) {
  return tx`(
    select a.* from pages a
     where a.workspace_id = ${workspaceId}::uuid
       and (a.dir not in (select closed_directories(${workspaceId}::uuid, ${userId}::uuid, ${need}))
            or a.id in (select page_id from pages_with_rules(${workspaceId}::uuid, ${userId}::uuid, ${need}) where is_open))
       and a.id not in (select page_id from pages_with_rules(${workspaceId}::uuid, ${userId}::uuid, ${need})
                         where not is_open))`;
}

/** The nodes that `reader` may see, to select few of in place of the table. */
export function visibleNodes(reader: Reader) {
  return reader.tx`(
    select b.* from nodes b
     where b.workspace_id = ${reader.workspaceId}::uuid and b.page_id in (select id from ${visiblePages(reader)} v))`;
}

/** As `visibleNodes`, for a query that goes over many: what is hidden is looked up once, however many nodes there are. */
export function manyVisibleNodes({ tx, workspaceId, userId }: Reader) {
  return tx`(
    select b.* from nodes b
     where b.workspace_id = ${workspaceId}::uuid
       and b.page_id not in (select hidden_pages(${workspaceId}::uuid, ${userId}::uuid, 'read')))`;
}

/** The vectors of the pages that `reader` may see; what is hidden is looked up once, however many there are. */
export function visibleVectors({ tx, workspaceId, userId }: Reader) {
  return tx`(
    select w.* from page_vectors w
     where w.workspace_id = ${workspaceId}::uuid
       and w.page_id not in (select hidden_pages(${workspaceId}::uuid, ${userId}::uuid, 'read')))`;
}
