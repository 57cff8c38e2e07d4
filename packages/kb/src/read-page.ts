import type { NodeKind } from "./outline.ts";
import { visibleNodes, visiblePages, type Reader } from "./scope.ts";
import { writeOutline, type WriteOptions, type WrittenNode } from "./write-outline.ts";

interface NodeRow {
  readonly id: string;
  readonly parentId: string | null;
  readonly kind: NodeKind;
  readonly text: string;
  readonly lead: string | null;
  readonly hang: string | null;
  readonly trail: string | null;
}

export interface ReadPage {
  readonly markdown: string;
  readonly revision: number;
}

/**
 * The whole page as Markdown, its frontmatter first; an imported page that nobody changed comes out as it came in, but
 * for line ends, which are `\n`. `withIds` puts `<!--id-->` last on the first line of every bullet. Undefined where the
 * reader sees no such page.
 */
export async function readPage(
  reader: Reader,
  pageId: string,
  options: WriteOptions = {},
): Promise<ReadPage | undefined> {
  const { tx } = reader;
  // One statement, so that nodes and frontmatter are of one revision.
  const [page] = await tx<{ frontmatter: string; revision: number; nodes: string }[]>`
    select frontmatter, revision,
           (select coalesce(json_agg(json_build_object('id', id, 'parentId', parent_id, 'kind', kind, 'text', text,
                                                       'lead', lead, 'hang', hang, 'trail', trail)
                                     order by order_key, id), '[]')::text
              from ${visibleNodes(reader)} n where page_id = p.id) as nodes
      from ${visiblePages(reader)} p where id = ${pageId}::uuid`;
  if (page === undefined) return undefined;
  const rows: NodeRow[] = JSON.parse(page.nodes);
  const markdown = writeOutline(page.frontmatter, inPageOrder(rows), options);
  return { markdown, revision: page.revision };
}

/** Parents before children, siblings in the order in which they are given. */
function inPageOrder(rows: readonly NodeRow[]): WrittenNode[] {
  const children = Map.groupBy(rows, (row) => row.parentId);
  const ordered: WrittenNode[] = [];
  const waiting = (children.get(null) ?? []).toReversed();
  for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
    const { lead, hang, trail, ...node } = row;
    ordered.push({
      ...node,
      shape: lead === null || hang === null || trail === null ? null : { lead, hang, trail },
    });
    for (const child of (children.get(row.id) ?? []).toReversed()) waiting.push(child);
  }
  return ordered;
}
