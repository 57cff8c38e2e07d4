import { loadPage, type LoadedPage } from "./load-page.ts";
import type { KeyedNode } from "./page-tree.ts";
import { showPages, visibleNodes, type Reader } from "./scope.ts";

/** A node and all below it, on its page. */
export interface FoundNode {
  readonly page: LoadedPage;
  readonly node: KeyedNode;
  /** The node first, in page order. */
  readonly subtree: readonly KeyedNode[];
}

/** The page that a node is on; undefined where the reader sees no such node. */
export async function findPageOfNode(reader: Reader, nodeId: string): Promise<string | undefined> {
  const [row] = await reader.tx<{ pageId: string }[]>`
    select page_id as "pageId" from ${visibleNodes(reader)} n where id = ${nodeId}::uuid`;
  if (row !== undefined) showPages(reader, [row.pageId]);
  return row?.pageId;
}

/** A node with its page; undefined where the reader sees no such node. */
export async function findNode(reader: Reader, nodeId: string): Promise<FoundNode | undefined> {
  const pageId = await findPageOfNode(reader, nodeId);
  const page = pageId === undefined ? undefined : await loadPage(reader, pageId);
  return page && nodeIn(page, page.nodes, nodeId);
}

/** The node among `nodes`, which are in page order. */
export function nodeIn(page: LoadedPage, nodes: readonly KeyedNode[], nodeId: string): FoundNode | undefined {
  const start = nodes.findIndex(({ id }) => id === nodeId);
  const node = nodes[start];
  if (node === undefined) return undefined;
  const inside = new Set([nodeId]);
  let end = start + 1;
  for (let next = nodes[end]; next?.parentId != null && inside.has(next.parentId); next = nodes[end]) {
    inside.add(next.id);
    end += 1;
  }
  return { page, node, subtree: nodes.slice(start, end) };
}
