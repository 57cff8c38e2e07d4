/** A part of a line of Markdown that is more than text: from where to where, and what it is. */
export interface FoundSpan {
  readonly start: number;
  readonly end: number;
  readonly kind: "code" | "strong" | "emphasis" | "link" | "name";
  /** What is seen of it. */
  readonly inner: string;
  /** Where a link goes; of a `[[name|words]]` the name. */
  readonly url: string;
}

const longestLabel = 500;
const address = /\(([^\s()]{1,2000})\)/y;
const bare = /https?:\/\/[^\s<>"'`)\]]{1,2000}/y;

/**
 * The code, emphasis and links in a text, from left to right; none lies in another. Takes time in the order of the text's
 * length, whatever stands in it: what a mark needs behind it is looked up, not looked for by each mark anew.
 */
export function* findSpans(text: string): Generator<FoundSpan> {
  const readers = [
    readCode(text),
    readStrong(text),
    readEmphasis(text),
    readName(text),
    readLink(text),
    readBare(text),
  ];
  const mark = /[`*[]|https?:\/\//g;
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    const { index } = found;
    let span: FoundSpan | undefined;
    for (const read of readers) span ??= read(index);
    if (span !== undefined) yield span;
    mark.lastIndex = span?.end ?? index + 1;
  }
}

/** What begins at a place; to be asked for places in their order. */
type Reader = (start: number) => FoundSpan | undefined;

function readCode(text: string): Reader {
  const runs = new Map<number, number[]>();
  const endOf = new Map<number, number>();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    for (let at = index; at < index + run.length; at += 1) endOf.set(at, index + run.length);
    const places = runs.get(run.length);
    if (places === undefined) runs.set(run.length, [index]);
    else places.push(index);
  }
  for (const places of runs.values()) places.reverse();
  return (start) => {
    const from = endOf.get(start);
    if (from === undefined) return undefined;
    const places = runs.get(from - start) ?? [];
    while ((places.at(-1) ?? Infinity) < from) places.pop();
    const close = places.at(-1);
    if (close === undefined) return undefined;
    return { start, end: close + from - start, kind: "code", inner: text.slice(from, close), url: "" };
  };
}

function readStrong(text: string): Reader {
  const closes = /(?<=\S)\*\*/g;
  let close = -1;
  return (start) => {
    if (!text.startsWith("**", start) || !/\S/.test(text.charAt(start + 2))) return undefined;
    // The last one found serves until it lies behind; `Infinity` says that there is none any more.
    if (close < start + 3) {
      closes.lastIndex = start + 3;
      close = closes.exec(text)?.index ?? Infinity;
    }
    if (close === Infinity) return undefined;
    return { start, end: close + 2, kind: "strong", inner: text.slice(start + 2, close), url: "" };
  };
}

function readEmphasis(text: string): Reader {
  return (start) => {
    if (text.charAt(start) !== "*" || /[\w*]/.test(text.charAt(start - 1)) || !/\S/.test(text.charAt(start + 1)))
      return undefined;
    const next = text.indexOf("*", start + 2);
    const close = [next, next + 1].find(
      (at) =>
        next > 0 && text.charAt(at) === "*" && /\S/.test(text.charAt(at - 1)) && !/[\w*]/.test(text.charAt(at + 1)),
    );
    if (close === undefined) return undefined;
    return { start, end: close + 1, kind: "emphasis", inner: text.slice(start + 1, close), url: "" };
  };
}

/**
 * `[[name]]` and `[[name|words]]`, the bar escaped or not. A bracket that is open in it closes before the link does, and
 * what cannot stand in a name is written as `&#124;`, as `packages/kb/src/link-names.ts` has it.
 */
function readName(text: string): Reader {
  const link = /\[\[(?!\[)((?:(?!\[\[|\]\])[^\n]){1,2000})\]\]/y;
  return (start) => {
    link.lastIndex = start;
    const [whole, within = ""] = link.exec(text) ?? [];
    if (whole === undefined) return undefined;
    const isOpen = within.lastIndexOf("[") > within.lastIndexOf("]") && text.charAt(start + whole.length) === "]";
    const all = isOpen ? `${within}]` : within;
    const bar = all.search(/\\?\|/);
    const name = readSigns(bar < 0 ? all : all.slice(0, bar));
    const shown = bar < 0 ? "" : all.slice(all.indexOf("|", bar) + 1);
    return {
      start,
      end: start + whole.length + (isOpen ? 1 : 0),
      kind: "name",
      inner: shown || name,
      url: name.trim(),
    };
  };
}

function readSigns(name: string): string {
  return name.replaceAll(/&#(38|9[1236]|124);/g, (_all, code: string) => String.fromCharCode(Number(code)));
}

function readLink(text: string): Reader {
  const ends = /[\]\n]/g;
  let end = -1;
  let url: string | undefined;
  return (start) => {
    if (text.charAt(start) !== "[" || text.charAt(start - 1) === "!") return undefined;
    if (end < start + 1) {
      ends.lastIndex = start + 1;
      end = ends.exec(text)?.index ?? Infinity;
      address.lastIndex = end + 1;
      url = text.charAt(end) === "]" ? address.exec(text)?.[1] : undefined;
    }
    const inner = text.slice(start + 1, Math.min(end, start + longestLabel + 2));
    if (url === undefined || inner === "" || inner.length > longestLabel) return undefined;
    return { start, end: end + url.length + 3, kind: "link", inner, url };
  };
}

function readBare(text: string): Reader {
  return (start) => {
    bare.lastIndex = start;
    const url = bare.exec(text)?.[0];
    return url === undefined ? undefined : { start, end: start + url.length, kind: "link", inner: url, url };
  };
}
