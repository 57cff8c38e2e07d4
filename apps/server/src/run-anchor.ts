import type { Queryable } from "@countersign/db/connect.ts";
import { findPageOfNode } from "@countersign/kb/find-node.ts";
import { readListedPage } from "@countersign/kb/list-pages.ts";
import type { Actor } from "./auth.ts";
import type { Work } from "./idempotency.ts";
import { noNode, noPage, writerOf } from "./page-actor.ts";
import { invalidField } from "./problem.ts";

/** The page, and the node of it, that a run is about; refused where the actor sees none. */
export async function readAnchor(
  { read }: Pick<Work, "read">,
  actor: Actor,
  { page, node }: { readonly page?: string | undefined; readonly node?: string | undefined },
): Promise<{ readonly pageId?: string; readonly nodeId?: string }> {
  if (page === undefined && node === undefined) return {};
  if (page === undefined) throw invalidField("json.page", "name the page of the node, too");
  return await read(async (tx) => {
    const reader = writerOf(actor, tx);
    if ((await readListedPage(reader, page)) === undefined) throw noPage(page);
    if (node === undefined) return { pageId: page };
    if ((await findPageOfNode(reader, node)) !== page) throw noNode(node);
    return { pageId: page, nodeId: node };
  });
}

/** Afterwards whoever may not see the page does not read the run, where the page is closed to somebody. */
export async function noteAnchor(
  sql: Queryable,
  { workspaceId, runId, pageId }: { readonly workspaceId: string; readonly runId: string; readonly pageId: string },
): Promise<void> {
  await sql.unsafe(
    `insert into run_reads (run_id, page_id)
     select $2::uuid, n.page_id from reads_to_note($1::uuid, $2::uuid, array[$3::uuid], '{}', '{}') n`,
    [workspaceId, runId, pageId],
    { prepare: true },
  );
}
