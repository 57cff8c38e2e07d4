import { readFrontmatter } from "./frontmatter.ts";
import type { Page } from "./lookup.ts";
import type { NodeKind } from "./outline.ts";
import { inPageOrder, type KeyedNode } from "./page-tree.ts";
import { visibleNodes, visiblePages, writablePages, type Reader, type Writer } from "./scope.ts";

/** A page with all that is needed to change it. */
export interface LoadedPage extends Page {
  readonly frontmatter: string;
  readonly lineEnd: "\n" | "\r\n";
  readonly fileName: string | null;
  readonly importedRevision: number | null;
  readonly importedSource: string | null;
  readonly names: readonly string[];
  /** In page order. */
  readonly nodes: readonly KeyedNode[];
}

interface NodeRow {
  readonly id: string;
  readonly parentId: string | null;
  readonly orderKey: string;
  readonly kind: NodeKind;
  readonly text: string;
  readonly lead: string | null;
  readonly hang: string | null;
  readonly trail: string | null;
}

/** The page as it is now; undefined where the reader sees no such page. */
export async function loadPage(reader: Reader, pageId: string): Promise<LoadedPage | undefined> {
  // One statement, so that nodes and frontmatter are of one revision.
  const [page] = await reader.tx<(Omit<LoadedPage, "nodes"> & { nodes: string })[]>`
    select id, dir, title, slug, type, revision, frontmatter, line_end as "lineEnd", file_name as "fileName",
           imported_revision as "importedRevision", imported_source as "importedSource", names,
           (select coalesce(json_agg(json_build_object('id', id, 'parentId', parent_id, 'orderKey', order_key, 'kind', kind,
                                                       'text', text, 'lead', lead, 'hang', hang, 'trail', trail)), '[]')::text
              from ${visibleNodes(reader)} n where page_id = p.id) as nodes
      from ${visiblePages(reader)} p where id = ${pageId}::uuid`;
  if (page === undefined) return undefined;
  const rows: NodeRow[] = JSON.parse(page.nodes);
  return { ...page, nodes: inPageOrder(rows.map(nodeOf)) };
}

/** Locks the page for a change and loads it; undefined where the writer may not change it, or sees no such page. */
export async function lockPage(writer: Writer, pageId: string): Promise<LoadedPage | undefined> {
  const { tx } = writer;
  const locked = await tx`
    select from pages where id = ${pageId}::uuid and id in (select id from ${writablePages(writer)} w) for no key update`;
  return locked.length === 0 ? undefined : await loadPage(writer, pageId);
}

function nodeOf({ id, parentId, orderKey, kind, text, lead, hang, trail }: NodeRow): KeyedNode {
  const shape = lead === null || hang === null || trail === null ? null : { lead, hang, trail };
  return { id, parentId, orderKey, kind, text, shape };
}

/** What the frontmatter says of a page, with what stands in where it says nothing. */
export function describePage(frontmatter: string, fallbackTitle: string) {
  const { title = fallbackTitle, type = "Page", labels, aliases, problem, humanMarks } = readFrontmatter(frontmatter);
  return { title, type, labels, aliases, problem: problem ?? null, humanMarks };
}
