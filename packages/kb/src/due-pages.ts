import type { Queryable, Sql, Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import type { Vector } from "./embeddings.ts";
import { nodeOf, type NodeRow } from "./load-page.ts";
import { cutParts, type PagePart } from "./page-parts.ts";
import { inPageOrder } from "./page-tree.ts";

/** Which vectors are wanted: those of another model, or of other dimensions, are as none. */
export interface Space {
  readonly model: string;
  readonly dims: number;
}

/** A page that this process embeds, for as long as its claim lasts. */
export interface ClaimedPage {
  readonly pageId: string;
  readonly attempts: number;
  /** Until when, as the database writes it; sent back as text, since the driver makes milliseconds of a time. */
  readonly claim: string;
}

/** A page as it is to be embedded. */
export interface DuePage extends ClaimedPage {
  readonly revision: number;
  readonly parts: readonly PagePart[];
  /** What it has already, by the hash of its text. */
  readonly known: ReadonlyMap<string, Vector>;
}

/**
 * Up to `most` pages whose vectors are not those of now, the last changed first; until `claimMs` from now nobody else
 * gets them. Who dies meanwhile leaves them due again then.
 */
export async function claimDuePages(
  sql: Queryable,
  { model, dims }: Space,
  { most, claimMs }: { readonly most: number; readonly claimMs: number },
): Promise<ClaimedPage[]> {
  return await sql<ClaimedPage[]>`
    with due as (
      select p.id, p.workspace_id
        from pages p left join embedded_pages e on e.page_id = p.id
       where p.removed_at is null
         and (e.page_id is null
              or e.due_at <= clock_timestamp()
                 and (e.model, e.dims, e.revision) is distinct from (${model}::text, ${dims}::int, p.revision))
       order by p.updated_at desc
       limit ${most})
    insert into embedded_pages as e (page_id, workspace_id, attempts, due_at)
    select id, workspace_id, 1, clock_timestamp() + ${claimMs}::float8 * interval '1 ms' from due
    -- Two processes may have looked at once; the second waits here, and then looks again.
    on conflict (page_id) do update set attempts = e.attempts + 1, due_at = excluded.due_at
     where e.due_at <= clock_timestamp()
    returning page_id as "pageId", attempts, due_at::text as claim`;
}

/** The claimed page's parts and what it has; undefined where it was removed meanwhile. */
export async function loadDuePage(
  sql: Sql,
  claimed: ClaimedPage,
  { model, dims }: Space,
): Promise<DuePage | undefined> {
  const { pageId } = claimed;
  return await transaction(
    sql,
    async (tx) => {
      const [page] = await tx<{ title: string; revision: number }[]>`
        select title, revision from pages where id = ${pageId}::uuid and removed_at is null`;
      if (page === undefined) return undefined;
      const rows = await tx<NodeRow[]>`
        select id, parent_id as "parentId", order_key as "orderKey", kind, text, lead, hang, trail
          from nodes where page_id = ${pageId}::uuid`;
      const vectors = await tx<{ hash: string; embedding: number[] }[]>`
        select text_hash as hash, embedding from page_vectors
         where page_id = ${pageId}::uuid and model = ${model} and dims = ${dims}`;
      return {
        ...claimed,
        revision: page.revision,
        parts: cutParts(page.title, inPageOrder(rows.map(nodeOf))),
        known: new Map(vectors.map(({ hash, embedding }) => [hash, embedding])),
      };
    },
    { isReadOnly: true, isolation: "repeatable read" },
  );
}

/**
 * Afterwards the page has these vectors, one for each part, and is due again when it changes. False where the claim was
 * over, or the page removed: then nothing has changed.
 */
export async function storeVectors(
  sql: Sql,
  { pageId, claim, revision, parts }: DuePage,
  vectors: readonly Vector[],
  { model, dims }: Space,
): Promise<boolean> {
  return await transaction(sql, async (tx) => {
    const [held] = await tx`
      update embedded_pages
         set model = ${model}, dims = ${dims}, revision = ${revision}, attempts = 0, due_at = '-infinity', problem = null
       where page_id = ${pageId}::uuid and due_at = ${claim}::text::timestamptz
      returning 1`;
    if (held === undefined) return false;
    await tx`
      delete from page_vectors
       where page_id = ${pageId}::uuid and (part >= ${parts.length} or (model, dims) <> (${model}::text, ${dims}::int))`;
    await writeParts(tx, pageId, { model, dims }, parts, vectors);
    return true;
  });
}

async function writeParts(
  tx: Tx,
  pageId: string,
  { model, dims }: Space,
  parts: readonly PagePart[],
  vectors: readonly Vector[],
): Promise<void> {
  const rows = parts.map(({ nodeId, hash }, part) => ({ part, nodeId, hash, vector: vectors[part]?.map(shorten) }));
  // What is as it was is not written: each row that is costs an entry of the index.
  await tx`
    insert into page_vectors as v (page_id, part, workspace_id, model, dims, node_id, text_hash, embedding)
    select e.page_id, r.part, e.workspace_id, ${model}, ${dims}, r."nodeId", r.hash,
           array(select n::real from json_array_elements_text(r.vector) with ordinality as a (n, at) order by at)
      from json_to_recordset(${JSON.stringify(rows)}::text::json)
             as r (part int, "nodeId" uuid, hash text, vector json),
           embedded_pages e
     where e.page_id = ${pageId}::uuid
    on conflict (page_id, part) do update
       set node_id = excluded.node_id, text_hash = excluded.text_hash, embedding = excluded.embedding
     where (v.node_id, v.text_hash) is distinct from (excluded.node_id, excluded.text_hash)`;
}

/** As many digits as `real` has. */
function shorten(number: number): number {
  return Number(number.toPrecision(7));
}

/** Gives pages back that nothing was done with, as if they had not been claimed. */
export async function releasePages(sql: Queryable, pages: readonly ClaimedPage[]): Promise<void> {
  for (const { pageId, claim } of pages) {
    await sql`
      update embedded_pages set due_at = '-infinity', attempts = attempts - 1
       where page_id = ${pageId}::uuid and due_at = ${claim}::text::timestamptz`;
  }
}

/** The page waits, with the reason, for `waitMs`; a change of it does not make it due before. */
export async function postponePage(
  sql: Queryable,
  { pageId, claim }: ClaimedPage,
  { reason, waitMs }: { readonly reason: string; readonly waitMs: number },
): Promise<void> {
  await sql`
    update embedded_pages
       set due_at = clock_timestamp() + ${waitMs}::float8 * interval '1 ms', problem = ${reason}
     where page_id = ${pageId}::uuid and due_at = ${claim}::text::timestamptz`;
}

/** Afterwards no removed page has a vector. */
export async function dropRemovedPages(sql: Queryable): Promise<void> {
  await sql`
    delete from embedded_pages e
     using pages p
     where p.id = e.page_id and p.workspace_id = e.workspace_id and p.removed_at is not null`;
}

export interface EmbeddedCount {
  /** Of how many there are, the removed ones apart. */
  readonly pages: number;
  /** How many have the vectors of this model, at least of an earlier revision. */
  readonly embedded: number;
  /** How many wait because the endpoint refused their text. */
  readonly refused: number;
}

/** How far the pages of all workspaces are embedded. */
export async function countEmbedded(sql: Queryable, model: string): Promise<EmbeddedCount> {
  const [row] = await sql<EmbeddedCount[]>`
    select count(*) as pages, count(*) filter (where e.model = ${model}) as embedded, count(e.problem) as refused
      from pages p left join embedded_pages e on e.page_id = p.id
     where p.removed_at is null`;
  return row ?? { pages: 0, embedded: 0, refused: 0 };
}
