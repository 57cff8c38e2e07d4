import { readFrontmatter } from "./frontmatter.ts";
import type { Page } from "./lookup.ts";
import type { NodeKind } from "./outline.ts";
import { inPageOrder, type KeyedNode } from "./page-tree.ts";
import { showPages, visiblePages, writablePages, type Reader, type Writer } from "./scope.ts";

/** A page with all that is needed to change it. */
export interface LoadedPage extends Page {
  readonly frontmatter: string;
  readonly lineEnd: "\n" | "\r\n";
  readonly fileName: string | null;
  readonly names: readonly string[];
  /** In page order. */
  readonly nodes: readonly KeyedNode[];
}

/** A row of a node, as a statement of this package gives it. */
export interface NodeRow {
  readonly id: string;
  readonly parentId: string | null;
  readonly orderKey: string;
  readonly kind: NodeKind;
  readonly text: string;
  readonly lead: string | null;
  readonly hang: string | null;
  readonly trail: string | null;
}

/** What stands for the page itself among the rows of its nodes. */
type PageRow = Omit<NodeRow, "id" | "kind"> & { readonly id: null; readonly kind: "page" };

/** The page as it is now; undefined where the reader sees no such page. */
export async function loadPage(reader: Reader, pageId: string): Promise<LoadedPage | undefined> {
  // One statement, so that nodes and frontmatter are of one revision; and rows, which cost a third of nodes as one JSON.
  const rows = await reader.tx<(NodeRow | PageRow)[]>`
    with page as materialized (select * from ${visiblePages(reader)} p where id = ${pageId}::uuid)
    select null::uuid as id, null::uuid as "parentId", '' as "orderKey", 'page' as kind,
           json_build_object('id', id, 'dir', dir, 'title', title, 'slug', slug, 'type', type, 'revision', revision,
                             'frontmatter', frontmatter, 'lineEnd', line_end, 'fileName', file_name,
                             'names', names)::text as text,
           null::text as lead, null::text as hang, null::text as trail
      from page
    union all
    select n.id, n.parent_id, n.order_key, n.kind, n.text, n.lead, n.hang, n.trail
      from nodes n where n.page_id in (select id from page)`;
  const nodes: KeyedNode[] = [];
  let page: Omit<LoadedPage, "nodes"> | undefined;
  for (const row of rows) {
    if (row.kind === "page") page = JSON.parse(row.text) as Omit<LoadedPage, "nodes">;
    else nodes.push(nodeOf(row));
  }
  if (page !== undefined) showPages(reader, [page.id]);
  return page && { ...page, nodes: inPageOrder(nodes) };
}

/** Locks the page for a change and loads it; undefined where the writer may not change it, or sees no such page. */
export async function lockPage(writer: Writer, pageId: string): Promise<LoadedPage | undefined> {
  return (await lockHead(writer, pageId)) === undefined ? undefined : await loadPage(writer, pageId);
}

/** As `lockPage`, and reads nothing but what the page is called: for a change of few of its nodes. */
export async function lockHead(writer: Writer, pageId: string): Promise<Page | undefined> {
  const [page] = await writer.tx<Page[]>`
    select id, dir, title, slug, type, revision
      from pages
     where id = ${pageId}::uuid and id in (select id from ${writablePages(writer)} w) for no key update`;
  if (page !== undefined) showPages(writer, [page.id]);
  return page;
}

/** A node from its row; without a shape where the row keeps none. */
export function nodeOf({ id, parentId, orderKey, kind, text, lead, hang, trail }: NodeRow): KeyedNode {
  const shape = lead === null || hang === null || trail === null ? null : { lead, hang, trail };
  return { id, parentId, orderKey, kind, text, shape };
}

/** What the frontmatter says of a page, with what stands in where it says nothing. */
export function describePage(frontmatter: string, fallbackTitle: string) {
  const { title = fallbackTitle, type = "Page", labels, aliases, problem } = readFrontmatter(frontmatter);
  return { title, type, labels, aliases, problem: problem ?? null };
}
