import { findFalseHead } from "./check-okf.ts";
import { commitChange } from "./commit-change.ts";
import { findPageOfNode, nodeIn, type FoundNode } from "./find-node.ts";
import { lockPage } from "./load-page.ts";
import type { Page } from "./lookup.ts";
import { recordCommand } from "./commands.ts";
import type { Writer } from "./scope.ts";
import { settleShapes } from "./settle-shapes.ts";

export type RemoveResult =
  | { readonly kind: "removed"; readonly page: Page; readonly commandId: string; readonly nodeCount: number }
  | { readonly kind: "missing" }
  /** It is not what the caller agreed to. */
  | { readonly kind: "changed" }
  /** What is left could not be read as the page that it is, or a program may not leave it so. */
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "forbidden" };

/**
 * Removes a node and all below it, as one command that can be taken back. `agrees` is asked about what is there, under the
 * lock of the page.
 */
export async function removeNode(
  writer: Writer,
  nodeId: string,
  agrees: (found: FoundNode) => boolean = () => true,
): Promise<RemoveResult> {
  const pageId = await findPageOfNode(writer, nodeId);
  if (pageId === undefined) return { kind: "missing" };
  const page = await lockPage(writer, pageId);
  if (page === undefined) return { kind: "forbidden" };
  const found = nodeIn(page, page.nodes, nodeId);
  if (found === undefined) return { kind: "missing" };
  if (!agrees(found)) return { kind: "changed" };
  const gone = new Set(found.subtree.map(({ id }) => id));
  const left = page.nodes.filter(({ id }) => !gone.has(id));
  const { frontmatter } = page;
  const nodes = settleShapes(left, frontmatter);
  if (nodes === undefined) return { kind: "refused", reason: unreadable };
  const falseHead = findFalseHead(writer, page.nodes, { frontmatter, nodes });
  if (falseHead !== undefined) return { kind: "refused", reason: falseHead };
  const committed = await commitChange(writer, page, { kind: "node.removed", frontmatter, nodes });
  if (committed === undefined) throw new Error(`Nothing was removed from page ${page.id}`);
  return { kind: "removed", page: committed.page, commandId: committed.commandId, nodeCount: gone.size };
}

const unreadable =
  "What is left would be read otherwise than it is, as where it would begin like frontmatter. Edit the page as a whole.";

/** Takes a page away from everybody, with all its nodes, as one command that can be taken back. */
export async function removePage(writer: Writer, pageId: string): Promise<RemoveResult> {
  const page = await lockPage(writer, pageId);
  if (page === undefined) return { kind: "forbidden" };
  const after = await markRemoved(writer, pageId, true);
  const commandId = await recordCommand(writer, {
    pageId,
    revision: after.revision,
    kind: "page.removed",
    before: { page: { isRemoved: false } },
    after: { page: { isRemoved: true } },
  });
  return { kind: "removed", page: after, commandId, nodeCount: page.nodes.length };
}

/** Takes a locked page away, or brings it back, in a revision of its own. */
export async function markRemoved({ tx }: Writer, pageId: string, isRemoved: boolean): Promise<Page> {
  const [page] = await tx<Page[]>`
    update pages
       set removed_at = case when ${isRemoved} then clock_timestamp() end, revision = revision + 1, updated_at = clock_timestamp()
     where id = ${pageId}
    returning id, dir, title, slug, type, revision`;
  if (page === undefined) throw new Error(`Page ${pageId} vanished while it was locked`);
  return page;
}
