import { inPageOrder, type KeyedNode } from "./page-tree.ts";
import { nodeOf, type NodeRow } from "./load-page.ts";
import type { visiblePages, Writer } from "./scope.ts";

/** A part of a statement. */
type Piece = ReturnType<typeof visiblePages>;

/** A place of a page with what decides how it reads: all that is above it, and its neighbours in the order of the page. */
export interface Surroundings {
  /** In page order: the ancestors, what is directly before the place, what is in it, and the node after it. */
  readonly nodes: readonly KeyedNode[];
  /** Where in `nodes` the place begins, and how many of them are in it. */
  readonly start: number;
  readonly size: number;
  /** For nodes around the place that leave their form to the writer: how far in a sibling before them makes them stand. */
  readonly indents: ReadonlyMap<string, string>;
}

interface AroundRow extends NodeRow {
  readonly part: "up" | "before" | "inside" | "after";
  readonly depth: number;
  /** The `lead` of the nearest sibling before it that has one, for a node without. */
  readonly leadBefore: string | null;
}

/** The subtree of a node; undefined where the page has no such node. The page is locked. */
export async function loadAroundNode(
  writer: Writer,
  pageId: string,
  nodeId: string,
): Promise<Surroundings | undefined> {
  const { tx } = writer;
  const rows = await readAround(
    writer,
    pageId,
    nodeId,
    tx`select s.* from up u cross join lateral (${siblings(writer, pageId, "before")}) s where u.depth = 0`,
    tx`select n.* from nodes n where n.page_id = ${pageId} and n.id = ${nodeId}`,
  );
  return rows.length === 0 ? undefined : surroundingsOf(rows, nodeId);
}

/** The place behind the last child of a node, or behind the last node of the page. The page is locked. */
export async function loadAroundEnd(writer: Writer, pageId: string, parentId: string | null): Promise<Surroundings> {
  const { tx } = writer;
  const last =
    parentId === null
      ? tx`(select n.* from nodes n where n.page_id = ${pageId} and n.parent_id is null
             order by n.parent_id desc, n.order_key desc, n.id desc limit 1)`
      : tx`(select n.* from nodes n where n.page_id = ${pageId} and n.parent_id = ${parentId}
             order by n.order_key desc, n.id desc limit 1)`;
  return surroundingsOf(
    await readAround(writer, pageId, parentId, last, tx`select n.* from nodes n where false`),
    null,
  );
}

/** All rows of a place in one statement: each is found by an index, and none between them is read. */
async function readAround(
  writer: Writer,
  pageId: string,
  nodeId: string | null,
  before: Piece,
  inside: Piece,
): Promise<AroundRow[]> {
  const { tx } = writer;
  return await tx<AroundRow[]>`
    with recursive
      up as (
        select n.*, 0 as depth from nodes n where n.page_id = ${pageId} and n.id = ${nodeId}::uuid
        union all
        select n.*, u.depth + 1 from up u join nodes n on n.page_id = ${pageId} and n.id = u.parent_id),
      before as (
        select b.*, 0 as depth from (${before}) b
        union all
        select c.*, b.depth + 1
          from before b
         cross join lateral (select n.* from nodes n where n.page_id = ${pageId} and n.parent_id = b.id
                              order by n.order_key desc, n.id desc limit 1) c),
      inside as (
        select i.*, 0 as depth from (${inside}) i
        union all
        select n.*, i.depth + 1 from inside i join nodes n on n.page_id = ${pageId} and n.parent_id = i.id),
      after as (
        select s.*, u.depth from up u cross join lateral (${siblings(writer, pageId, "after")}) s
         order by u.depth limit 1),
      around as (
        select 'up' as part, u.* from up u
        union all select 'before', b.* from before b
        union all select 'inside', i.* from inside i
        union all select 'after', a.* from after a)
    select u.part, u.depth, u.id, u.parent_id as "parentId", u.order_key as "orderKey", u.kind, u.text, u.lead, u.hang, u.trail,
           case when u.lead is null and u.part <> 'inside' then
             (select s.lead from (${siblings(writer, pageId, "shaped")}) s)
           end as "leadBefore"
      from around u`;
}

/** The sibling of `u` that is next before or after it; `shaped`, the next before it that says how it stands. */
function siblings({ tx }: Writer, pageId: string, which: "before" | "after" | "shaped"): Piece {
  const side = which === "after" ? tx`>` : tx`<`;
  const order = which === "after" ? tx`asc` : tx`desc`;
  const only = which === "shaped" ? tx`and n.lead is not null` : tx``;
  // Two halves, since an index is not used for "equal, or both null"; one of them finds nothing.
  return tx`
    (select n.* from nodes n
      where n.page_id = ${pageId} and n.parent_id = u.parent_id
        and (n.order_key, n.id) ${side} (u.order_key, u.id) ${only}
      order by n.order_key ${order}, n.id ${order} limit 1)
    union all
    (select n.* from nodes n
      where n.page_id = ${pageId} and n.parent_id is null and u.parent_id is null
        and (n.order_key, n.id) ${side} (u.order_key, u.id) ${only}
      order by n.parent_id ${order}, n.order_key ${order}, n.id ${order} limit 1)`;
}

function surroundingsOf(rows: readonly AroundRow[], nodeId: string | null): Surroundings {
  // The node itself is in the place and not above it.
  const kept = rows.filter(({ part, id }) => part !== "up" || id !== nodeId);
  const nodes = inPageOrder(kept.map(nodeOf));
  const size = kept.filter(({ part }) => part === "inside").length;
  const after = kept.some(({ part }) => part === "after") ? 1 : 0;
  const indents = new Map<string, string>();
  for (const { id, leadBefore } of kept) {
    if (leadBefore !== null) indents.set(id, /^[ \t]*/.exec(leadBefore)?.[0] ?? "");
  }
  return { nodes, start: nodes.length - size - after, size, indents };
}
