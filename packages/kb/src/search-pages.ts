import type { Tx } from "@countersign/db/connect.ts";
import { findByVector, type NearPages } from "./find-by-vector.ts";
import { foldName } from "./fold.ts";
import type { NodeKind } from "./outline.ts";
import type { Questions } from "./questions.ts";
import { isTooLong, readBriefly } from "./read-briefly.ts";
import { manyVisibleNodes, showPages, visiblePages, type Reader } from "./scope.ts";
import { findTextProblem } from "./text.ts";
import { readCertainWords, readQuery } from "./words.ts";

export type HitKind = "page" | NodeKind;

/**
 * Where a hit was found: by its page's name, by all words, by its very text, by a similar name, by some of the words, or by
 * what its page means.
 */
export type HitList = "name" | "words" | "text" | "similar name" | "some words" | "meaning";

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
  /** The start of the node's text; of a page that was found by what it means, of the part that is nearest; else nothing. */
  readonly excerpt: string;
  /** The lists that it is on. */
  readonly lists: readonly HitList[];
}

/** A list that was to be searched and was not, and why, in words for whoever searched. */
export interface LeftOut {
  readonly list: HitList;
  readonly reason: string;
}

export type SearchResult =
  | { readonly kind: "found"; readonly hits: readonly Hit[]; readonly leftOut: readonly LeftOut[] }
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

/** Who searches, and with what. */
export interface Searcher extends Omit<Reader, "tx"> {
  /** Runs `body` in a transaction of its own that only reads. */
  read<T>(body: (tx: Tx) => Promise<T>): Promise<T>;
  /** Absent where no model of embeddings is configured; then nothing is asked and nothing is left out. */
  readonly questions?: Questions | undefined;
}

/**
 * As `searchPages`, with one more list where a model of embeddings is configured: the pages nearest in meaning, which is made
 * beside the others, the question's vector outside any transaction. Where it cannot be made the others answer, and `leftOut`
 * says why.
 */
export async function searchByAll(searcher: Searcher, query: SearchQuery): Promise<SearchResult> {
  const { questions } = searcher;
  const search = readSearch(query);
  if (search.kind === "refused") return search;
  const { workspaceId, userId, shown } = searcher;
  const quiet = { workspaceId, userId };
  if (questions === undefined || !search.hasPages) {
    const hits = await searcher.read(async (tx) =>
      showHits({ ...quiet, tx, ...(shown && { shown }) }, await collectLists({ ...quiet, tx }, search)),
    );
    return { kind: "found", hits, leftOut: [] };
  }
  const [lists, near] = await Promise.all([
    searcher.read((tx) => collectLists({ ...quiet, tx }, search)),
    findNear(searcher, questions, search.plain || search.text),
  ]);
  const all: RankedList[] = near.kind === "found" ? [...lists, ["meaning", near.pages]] : lists;
  // Only what comes of the lists together is shown, so it is noted when they are.
  const hits =
    shown === undefined
      ? fuse(all)
      : await searcher.read(async (tx) => showHits({ ...quiet, tx, ...(shown && { shown }) }, all));
  return { kind: "found", hits, leftOut: near.kind === "found" ? [] : [{ list: "meaning", reason: near.reason }] };
}

/** The best of the lists, which the reader is known to have been told of afterwards. */
function showHits(reader: Reader, lists: readonly RankedList[]): Hit[] {
  const hits = fuse(lists);
  showPages(
    reader,
    hits.map(({ pageId }) => pageId),
  );
  return hits;
}

async function findNear(searcher: Searcher, questions: Questions, question: string): Promise<NearPages> {
  const { workspaceId, userId } = searcher;
  const embedded = await questions.embed(question);
  if (embedded.kind === "left_out") return embedded;
  try {
    return await searcher.read((tx) =>
      findByVector({ tx, workspaceId, userId }, embedded.vector, { model: questions.model }),
    );
  } catch {
    // The words are searched on another connection: where it is the database that fails, they say so.
    return { kind: "left_out", reason: "the database could not compare the vectors within a second" };
  }
}

/**
 * The ten best hits for some words, fused from several ranked lists: names, all words, the very text, similar names, and
 * some of the words where all of them are found too rarely. Any input is a search; one without words finds by text.
 */
export async function searchPages(reader: Reader, query: SearchQuery): Promise<SearchResult> {
  const search = readSearch(query);
  if (search.kind === "refused") return search;
  return { kind: "found", hits: showHits(reader, await collectLists(reader, search)), leftOut: [] };
}

/** A search that was read. */
interface Search {
  readonly kind: "search";
  readonly text: string;
  /** Without quotation marks. */
  readonly plain: string;
  readonly hasPages: boolean;
  readonly nodeKinds: readonly string[];
}

function readSearch({ q, kinds }: SearchQuery): Search | Extract<SearchResult, { kind: "refused" }> {
  const problem = findTextProblem(q);
  if (problem !== undefined) return { kind: "refused", reason: `The words cannot be searched: ${problem}.` };
  const text = q.trim().slice(0, longestQuery);
  if (text === "") return { kind: "refused", reason: "The search is empty; give at least one word." };
  const wanted = kinds ?? ["page", "bullet", "heading", "paragraph", "table", "fence"];
  return {
    kind: "search",
    text,
    plain: text.replaceAll(/["“”]/g, "").trim(),
    hasPages: wanted.includes("page"),
    nodeKinds: wanted.filter((kind) => kind !== "page"),
  };
}

type RankedList = readonly [HitList, readonly Row[]];

async function collectLists(reader: Reader, { text, plain, hasPages, nodeKinds }: Search): Promise<RankedList[]> {
  const words = readQuery(text);
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
  return [
    ["name", named],
    ["words", all],
    ["text", [...literal, ...signs]],
    ["some words", some],
    ["similar name", similar],
  ];
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

function fuse(lists: readonly RankedList[]): Hit[] {
  const fused = new Map<string, { row: Row; lists: HitList[]; score: number }>();
  for (const [list, rows] of lists) {
    for (const [rank, row] of rows.entries()) {
      const key = row.nodeId ?? row.pageId;
      const known = fused.get(key) ?? { row, lists: [], score: 0 };
      known.lists.push(list);
      if (known.row.excerpt === "") known.row = row;
      known.score += 1 / (fusionConstant + rank + 1);
      fused.set(key, known);
    }
  }
  return [...fused.values()]
    .toSorted((a, b) => b.score - a.score)
    .slice(0, mostHits)
    .map(({ row, lists: hitLists }) => ({ ...row, lists: hitLists }));
}
