import type { Space } from "./due-pages.ts";
import type { Vector } from "./embeddings.ts";
import { visibleVectors, visiblePages, type Reader } from "./scope.ts";
import { type ExtensionRow, judgeExtension, nameIndex } from "./vector-index.ts";

/** A page that is near in meaning, with the start of the part that is nearest. */
export interface NearPage {
  readonly kind: "page";
  readonly pageId: string;
  readonly pageTitle: string;
  readonly dir: string;
  readonly nodeId: null;
  readonly excerpt: string;
}

export type NearPages =
  | { readonly kind: "found"; readonly pages: readonly NearPage[] }
  | { readonly kind: "left_out"; readonly reason: string };

export interface NearOptions {
  readonly model: string;
  /** So many vectors are compared one by one, which is exact; of more the index finds the nearest. 2,000 unless stated. */
  readonly mostCompared?: number;
}

/** Parts that are looked at, several of a page among them. */
const mostParts = 100;
/** What is further down shares a direction with every question. */
const mostPages = 20;
const excerptLength = 300;
const timeoutMs = 1_000;

/**
 * The pages nearest in meaning to a question, of those that the reader sees, the nearest first; none that points away from
 * it. Left out where the database cannot compare vectors, or has none of this model and these dimensions. Throws where it
 * takes longer than a second. Sets parameters of its transaction, which is to do nothing else.
 */
export async function findByVector(reader: Reader, question: Vector, options: NearOptions): Promise<NearPages> {
  const { model, mostCompared = 2_000 } = options;
  const space = { model, dims: question.length };
  const { tx } = reader;
  // Where access rules take away what it found, the index goes on, until it has enough or has looked at 20,000.
  await tx`
    select set_config('statement_timeout', ${String(timeoutMs)}, true),
           set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', '100', true)`;
  const readiness = await readReadiness(reader, space, mostCompared);
  if (readiness.kind !== "ready") return readiness;
  const { few } = readiness;
  const type = tx.unsafe(`halfvec(${space.dims})`);
  const asked = `[${question.map((one) => one.toPrecision(7)).join(",")}]`;
  const distance = tx`v.embedding::${type} <=> ${asked}::${type}`;
  // A sum is no expression of the index: few are compared one by one, by their pages.
  const order = few === null ? distance : tx`(${distance}) + 0`;
  const among = few === null ? tx`` : tx`and v.page_id = any (${few}::uuid[])`;
  const pages = await tx<NearPage[]>`
    with near as materialized (
      select v.page_id, v.node_id, ${distance} as distance
        from ${visibleVectors(reader)} v
       where v.model = ${model} and v.dims = ${tx.unsafe(String(space.dims))} ${among}
       order by ${order}
       limit ${mostParts}),
    nearest as (
      select distinct on (page_id) page_id, node_id, distance from near where distance < 1 order by page_id, distance)
    select 'page' as kind, p.id as "pageId", p.title as "pageTitle", p.dir, null as "nodeId",
           coalesce(left(n.text, ${excerptLength}), '') as excerpt
      from nearest a
      join ${visiblePages(reader)} p on p.id = a.page_id
      left join nodes n on n.id = a.node_id and n.page_id = a.page_id
     order by a.distance, p.title, p.id
     limit ${mostPages}`;
  return { kind: "found", pages };
}

type Readiness =
  /** `few` are the pages that have vectors and that the reader sees; null where there are too many to compare. */
  { readonly kind: "ready"; readonly few: readonly string[] | null } | NearPages;

interface ReadinessRow extends ExtensionRow {
  readonly isIndexed: boolean;
  readonly few: readonly string[] | null;
}

/** What there is to search for this reader. How much that is decides how: an index starves who sees little of much. */
async function readReadiness(reader: Reader, { model, dims }: Space, mostCompared: number): Promise<Readiness> {
  const { tx } = reader;
  const [row] = await tx<ReadinessRow[]>`
    with seen as materialized (
      select page_id from ${visibleVectors(reader)} v where model = ${model} and dims = ${dims}
       limit ${mostCompared + 1})
    select (select extversion from pg_extension where extname = 'vector') as version,
           to_regtype('halfvec') is not null as "isReachable",
           exists (select from pg_index where indexrelid = to_regclass(${nameIndex(dims)}) and indisvalid) as "isIndexed",
           case when (select count(*) from seen) <= ${mostCompared}
                then array(select distinct page_id from seen) end as few`;
  const support = judgeExtension(row);
  if (support.kind === "missing") return { kind: "left_out", reason: support.reason };
  const { isIndexed = false, few = [] } = row ?? {};
  if (few?.length === 0) return await explainNone(reader, { model, dims });
  if (few !== null || isIndexed) return { kind: "ready", few };
  return { kind: "left_out", reason: "the index of the vectors is not made yet" };
}

/** Tells a model that was changed from one that is new, and both from a reader who sees nothing that has vectors. */
async function explainNone({ tx, workspaceId }: Reader, { model, dims }: Space): Promise<NearPages> {
  const [other] = await tx<{ model: string; dims: number; isOfNow: boolean }[]>`
    select model, dims,
           exists (select from page_vectors
                    where workspace_id = ${workspaceId}::uuid and model = ${model} and dims = ${dims}) as "isOfNow"
      from page_vectors where workspace_id = ${workspaceId}::uuid limit 1`;
  if (other === undefined) return { kind: "left_out", reason: "no page has vectors yet" };
  if (other.isOfNow) return { kind: "found", pages: [] };
  return {
    kind: "left_out",
    reason: `the pages have vectors of the model ${other.model} with ${other.dims} numbers; those of ${model} with ${dims} are not made yet`,
  };
}
