import { foldText } from "./fold.ts";

/** Scripts written without blanks between words: every two neighbouring characters are a word. */
const unspaced =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}ー";
const token = new RegExp(
  `[${unspaced}]+|(?:(?![${unspaced}])[\\p{L}\\p{M}\\p{N}])+|\\p{RI}{2}|\\p{RI}|\\p{Extended_Pictographic}`,
  "gu",
);
const isUnspaced = new RegExp(`^[${unspaced}]`, "u");

/** What Postgres can hold in one vector: positions up to 16,383, 256 of them a word, and 1,048,575 bytes in all. */
const mostPositions = 16_000;
const mostOfOneWord = 250;
const mostBytes = 1_000_000;
const longestWord = 200;

/** Piece by piece, since whoever asks may have enough long before the end, and one character may fold to eighteen. */
function* readTokens(text: string): Generator<string> {
  for (const [piece] of text.toWellFormed().matchAll(/\S{1,200000}/gu)) {
    for (const [match] of foldText(piece).matchAll(token)) yield match;
  }
}

/** The words of a text in their order. A run of characters of an unspaced script gives each of them and each pair. */
function* readWords(text: string): Generator<{ readonly word: string; readonly at: number }> {
  let at = 0;
  for (const match of readTokens(text)) {
    if (!isUnspaced.test(match)) {
      yield { word: Array.from(match).slice(0, longestWord).join(""), at: (at += 1) };
      continue;
    }
    const characters = Array.from(match);
    for (const [n, character] of characters.entries()) {
      at += 1;
      yield { word: character, at };
      const next = characters[n + 1];
      if (next !== undefined) yield { word: character + next, at };
    }
  }
}

/** The text's words as a `tsvector`, to be cast by the statement that stores it: of a long text the first that fit. */
export function wordVectorOf(text: string): string {
  const positions = new Map<string, number[]>();
  let bytes = 0;
  for (const { word, at } of readWords(text)) {
    const known = positions.get(word) ?? [];
    // Two bytes a position; beside a new word their number, and one that may be left free before it.
    bytes += known.length === 0 ? Buffer.byteLength(word) + 5 : 2;
    if (at > mostPositions || bytes > mostBytes) break;
    if (known.length < mostOfOneWord) known.push(at);
    positions.set(word, known);
  }
  return [...positions].map(([word, at]) => `${quote(word)}:${at.join(",")}`).join(" ");
}

/** A search as `tsquery` text: all of its words, with a quoted phrase in its order; and any of its words. */
export interface WordQuery {
  readonly all: string;
  readonly any: string;
}

/** What of a search can be asked for; undefined where it holds no word at all. Unbalanced quotes are no phrase. */
export function readQuery(q: string): WordQuery | undefined {
  const phrases: string[] = [];
  const loose = q.replaceAll(/["“”]([^"“”]*)["“”]/g, (_all, phrase: string) => {
    phrases.push(phrase);
    return " ";
  });
  const groups = phrases.map(phraseQuery);
  for (const [match] of foldText(loose.toWellFormed()).matchAll(token)) groups.push(wordQuery(match));
  const wanted = [...new Set(groups.filter((group) => group !== ""))].slice(0, 32);
  if (wanted.length === 0) return undefined;
  const last = wanted.at(-1) ?? "";
  const isPrefix = phrases.length === 0 && /^'[^']+'$/.test(last) && Array.from(last).length > 4;
  return {
    all: [...wanted.slice(0, -1), isPrefix ? `(${last} | ${last}:*)` : last].join(" & "),
    any: wanted.join(" | "),
  };
}

/**
 * Words that every text has which holds `text` as it stands: those that begin and end within it, and the start of its last
 * one. As `tsquery` text; undefined where there is none. Of a text of more words than are kept, only the first count.
 */
export function readCertainWords(text: string): string | undefined {
  const folded = foldText(text.toWellFormed());
  const certain = new Set<string>();
  for (const { 0: run, index } of folded.matchAll(token)) {
    const characters = Array.from(run);
    if (isUnspaced.test(run)) {
      const pairs = characters.slice(1).map((character, n) => `${characters[n]}${character}`);
      for (const word of pairs.length > 0 ? pairs : characters) certain.add(quote(word));
    } else if (index > 0 && characters.length <= longestWord) {
      certain.add(index + run.length < folded.length ? quote(run) : `${quote(run)}:*`);
    }
  }
  return certain.size === 0 ? undefined : [...certain].slice(0, 32).join(" & ");
}

/** A word as it is asked for. What Korean says with a word of its own elsewhere stands behind its words without a blank. */
function wordQuery(word: string): string {
  const query = phraseQuery(word);
  return /\p{Script=Hangul}'$/u.test(query) ? `${query}:*` : query;
}

/** The words of a phrase one after the other; of an unspaced script its pairs, each a place further than the one before. */
function phraseQuery(phrase: string): string {
  const words = [...readWords(phrase)];
  const first = words[0]?.at ?? 0;
  const places = Map.groupBy(words, ({ at }) => at);
  const steps = [...places.values()].flatMap((found, n) => {
    const longest = found.at(-1);
    const isLast = n === places.size - 1;
    // The last character of a run is in the pair before it already.
    const isCovered =
      isLast && n > 0 && found.length === 1 && isUnspaced.test(longest?.word ?? "") && pairEnds(places, n);
    return longest === undefined || isCovered ? [] : [longest];
  });
  let text = "";
  let at = first;
  for (const [n, step] of steps.entries()) {
    text += n === 0 ? quote(step.word) : ` <${step.at - at}> ${quote(step.word)}`;
    at = step.at;
  }
  return steps.length > 1 ? `(${text})` : text;
}

function pairEnds(places: ReadonlyMap<number, readonly { readonly word: string }[]>, n: number): boolean {
  return ([...places.values()][n - 1]?.length ?? 0) > 1;
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "''").replaceAll("\\", "\\\\")}'`;
}
