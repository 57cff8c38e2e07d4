import type { Tx } from "@countersign/db/connect.ts";

/** Who reads: everything below is confined to this workspace, by `visiblePages` and `visibleNodes`. */
export interface Reader {
  readonly tx: Tx;
  readonly workspaceId: string;
}

/** Who writes. A run writes as its user, and its commands name the call that did it. */
export interface Writer extends Reader {
  readonly userId: string;
  readonly call?: { readonly runId: string; readonly callId: string };
}

/** The pages that `reader` may see, to select from in place of the table. Every query of pages goes through here. */
export function visiblePages({ tx, workspaceId }: Reader) {
  return tx`(select * from pages where workspace_id = ${workspaceId}::uuid)`;
}

/** The nodes that `reader` may see, to select from in place of the table. Every query of nodes goes through here. */
export function visibleNodes({ tx, workspaceId }: Reader) {
  return tx`(select * from nodes where workspace_id = ${workspaceId}::uuid)`;
}
