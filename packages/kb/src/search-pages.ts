import { foldName } from "./fold.ts";
import type { NodeKind } from "./outline.ts";
import { isTooLong, readBriefly } from "./read-briefly.ts";
import { manyVisibleNodes, showPages, visiblePages, type Reader } from "./scope.ts";
import { findTextProblem } from "./text.ts";
import { readCertainWords, readQuery } from "./words.ts";

export type HitKind = "page" | NodeKind;

/** Where a hit was found: by its page's name, by all words, by its very text, by a similar name, by some of the words. */
export type HitList = "name" | "words" | "text" | "similar name" | "some words";

export interface SearchQuery {
  /** Words in any order; those in double quotes one after the other. */
  readonly q: string;
  /** Only hits of these kinds; all unless given. */
  readonly kinds?: readonly HitKind[] | undefined;
}

export interface Hit {
  readonly kind: HitKind;
  readonly pageId: string;
  readonly pageTitle: string;
  readonly dir: string;
  /** Null for a page that was found by its name. */
  readonly nodeId: string | null;
  /** The start of the node's text; of the page nothing. */
  readonly excerpt: string;
  /** The lists that it is on. */
  readonly lists: readonly HitList[];
}

export type SearchResult =
  | { readonly kind: "found"; readonly hits: readonly Hit[] }
  | { readonly kind: "refused"; readonly reason: string };

const mostHits = 10;
const listLength = 50;
/** Of more matches than this only so many are ranked. */
const mostRanked = 400;
const longestQuery = 1_000;
const excerptLength = 300;
/** What the rank in a list counts: 1/(60 + rank), as reciprocal rank fusion has it. */
const fusionConstant = 60;

type Row = Omit<Hit, "lists">;

/**
 * The ten best hits for some words, fused from several ranked lists: names, all words, the very text, similar names, and
 * some of the words where all of them are found too rarely. Any input is a search; one without words finds by text.
 */
export async function searchPages(reader: Reader, { q, kinds }: SearchQuery): Promise<SearchResult> {
  const problem = findTextProblem(q);
  if (problem !== undefined) return { kind: "refused", reason: `The words cannot be searched: ${problem}.` };
  const text = q.trim().slice(0, longestQuery);
  if (text === "") return { kind: "refused", reason: "The search is empty; give at least one word." };
  const wanted = kinds ?? ["page", "bullet", "heading", "paragraph", "table", "fence"];
  const nodeKinds = wanted.filter((kind) => kind !== "page");
  const words = readQuery(text);
  const plain = text.replaceAll(/["“”]/g, "").trim();

  const hasPages = wanted.includes("page");
  const hasNodes = nodeKinds.length > 0;
  const none = Promise.resolve<readonly Row[]>([]);
  const [named, all] = await Promise.all([
    hasPages ? findByName(reader, text, words?.all) : none,
    hasNodes && words !== undefined ? findByWords(reader, words.all, nodeKinds) : none,
  ]);
  const isRare = hasNodes && all.length < mostHits;
  const [literal, some, similar] = await Promise.all([
    isRare ? findByText(reader, plain, nodeKinds) : none,
    isRare && words?.any.includes(" | ") === true ? findByWords(reader, words.any, nodeKinds) : none,
    // For a name with a slip in it: where names are much alike, each would be similar to most.
    hasPages && named.length === 0 ? findBySimilarName(reader, plain) : none,
  ]);
  const isSign = isRare && all.length === 0 && isTooShort(plain) && /^[^\p{L}\p{N}]+$/u.test(plain);
  const signs = isSign ? await findSign(reader, plain, nodeKinds) : [];
  const lists: [HitList, readonly Row[]][] = [
    ["name", named],
    ["words", all],
    ["text", [...literal, ...signs]],
    ["some words", some],
    ["similar name", similar],
  ];
  const hits = fuse(lists);
  showPages(
    reader,
    hits.map(({ pageId }) => pageId),
  );
  return { kind: "found", hits };
}

async function findByName(reader: Reader, text: string, words: string | undefined): Promise<readonly Row[]> {
  const { tx } = reader;
  const name = foldName(text);
  return await tx<Row[]>`
    select 'page' as kind, id as "pageId", title as "pageTitle", dir, null as "nodeId", '' as excerpt
      from ${visiblePages(reader)} p
     where names @> array[${name}] or name_words @@ ${words ?? ""}::text::tsquery
     order by names @> array[${name}] desc, ts_rank(name_words, ${words ?? ""}::text::tsquery) desc, length(title), title, id
     limit ${listLength}`;
}

async function findBySimilarName(reader: Reader, text: string): Promise<readonly Row[]> {
  // What has no trigram makes the index look at every name.
  if (!/[\p{L}\p{N}]/u.test(text)) return [];
  const name = text.slice(0, 200).toLowerCase();
  return await reader.tx<Row[]>`
    select 'page' as kind, id as "pageId", title as "pageTitle", dir, null as "nodeId", '' as excerpt
      from ${visiblePages(reader)} p
     where lower(title) % ${name}
     order by similarity(lower(title), ${name}) desc, title, id
     limit ${listLength}`;
}

async function findByWords(reader: Reader, words: string, kinds: readonly string[]): Promise<readonly Row[]> {
  const { tx } = reader;
  return await tx<Row[]>`
    with found as materialized (
      select n.id, n.page_id, n.kind, n.text, n.words
        from ${manyVisibleNodes(reader)} n
       where n.words @@ ${words}::text::tsquery and n.kind = any(${[...kinds]}::text[])
       limit ${mostRanked})
    select f.kind, f.page_id as "pageId", p.title as "pageTitle", p.dir, f.id as "nodeId",
           left(f.text, ${excerptLength}) as excerpt
      from found f join pages p on p.id = f.page_id
     order by ts_rank_cd(f.words, ${words}::text::tsquery) desc, length(f.text), f.id
     limit ${listLength}`;
}

async function findByText(reader: Reader, text: string, kinds: readonly string[]): Promise<readonly Row[]> {
  return isTooShort(text) ? [] : await selectByText(reader, text, kinds);
}

/** An index of trigrams finds nothing shorter. */
function isTooShort(text: string): boolean {
  return Array.from(text).length < 3;
}

/** What is no word and too short for an index is looked for in every node, for a second at most. */
async function findSign(reader: Reader, text: string, kinds: readonly string[]): Promise<readonly Row[]> {
  try {
    return await readBriefly(reader, () => selectByText(reader, text, kinds));
  } catch (error) {
    if (isTooLong(error)) return [];
    throw error;
  }
}

async function selectByText(reader: Reader, text: string, kinds: readonly string[]): Promise<readonly Row[]> {
  const { tx } = reader;
  const pattern = `%${text.replaceAll(/[\\%_]/g, "\\$&")}%`;
  // Trigrams are many and each is in many texts; where a whole word is certain to be there, it leaves few to compare.
  const certain = readCertainWords(text);
  const words = certain === undefined ? tx`` : tx`and n.words @@ ${certain}::text::tsquery`;
  return await tx<Row[]>`
    with found as materialized (
      select n.id, n.page_id, n.kind, n.text
        from ${manyVisibleNodes(reader)} n
       where n.text ilike ${pattern} ${words} and n.kind = any(${[...kinds]}::text[])
       limit ${mostRanked})
    select f.kind, f.page_id as "pageId", p.title as "pageTitle", p.dir, f.id as "nodeId",
           left(f.text, ${excerptLength}) as excerpt
      from found f join pages p on p.id = f.page_id
     order by length(f.text), f.id
     limit ${listLength}`;
}

function fuse(lists: readonly (readonly [HitList, readonly Row[]])[]): Hit[] {
  const fused = new Map<string, { row: Row; lists: HitList[]; score: number }>();
  for (const [list, rows] of lists) {
    for (const [rank, row] of rows.entries()) {
      const key = row.nodeId ?? row.pageId;
      const known = fused.get(key) ?? { row, lists: [], score: 0 };
      known.lists.push(list);
      known.score += 1 / (fusionConstant + rank + 1);
      fused.set(key, known);
    }
  }
  return [...fused.values()]
    .toSorted((a, b) => b.score - a.score)
    .slice(0, mostHits)
    .map(({ row, lists: hitLists }) => ({ ...row, lists: hitLists }));
}
