/** From where to where in a text. */
export type Range = readonly [start: number, end: number];

const fenceMark = /^[ \t]*(?:`{3,}(?=[^`]*$)|~{3,})/;
const listItem = /^[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/;
/** What is a block of one line, or begins one: a heading, a quote, the row of a table, a break, an underline. */
const ownLine = /^[ \t]*(?:#{1,6}(?:[ \t]|$)|\||(?:[-=*_][ \t]*)+$)/;

/**
 * What in a node's text is code, in order: fences, indented blocks, and spans between runs of as many backticks. Read line
 * by line and then from left to right, in time of the order of the text's length whatever stands in it.
 */
export function findCode(text: string): Range[] {
  const code: Range[] = [];
  let fence: { readonly mark: string; readonly start: number } | undefined;
  let open: number | undefined;
  let [isAfterBlank, hasItem, wasQuote, at] = [false, false, false, 0];
  const endProse = (end: number): void => {
    if (open !== undefined) pushSpans(text, open, end, code);
    open = undefined;
  };
  for (const line of text.split("\n")) {
    const [start, end] = [at, at + line.length];
    at = end + 1;
    const plain = line.trim();
    if (fence !== undefined) {
      if (plain.length < fence.mark.length || plain !== fence.mark.charAt(0).repeat(plain.length)) continue;
      code.push([fence.start, end]);
      fence = undefined;
      continue;
    }
    const mark = fenceMark.exec(line)?.[0].trim();
    const isQuote = plain.startsWith(">");
    const isItem = listItem.test(line);
    if (mark !== undefined) {
      endProse(start);
      fence = { mark, start };
    } else if (plain === "") endProse(start);
    else if (open === undefined && isAfterBlank && !hasItem && /^(?: {4}| {0,3}\t)/.test(line)) code.push([start, end]);
    else if (ownLine.test(line)) {
      endProse(start);
      for (const [from, to] of line.includes("|") ? cellsOf(line) : [[0, line.length] as const])
        pushSpans(text, start + from, start + to, code);
    } else {
      if (isItem || (isQuote && !wasQuote)) endProse(start);
      open ??= start;
    }
    isAfterBlank = plain === "" || (isAfterBlank && open === undefined && mark === undefined);
    hasItem ||= isItem;
    wasQuote = isQuote;
  }
  endProse(text.length);
  if (fence !== undefined) code.push([fence.start, text.length]);
  return code;
}

/** The cells of a table's row. */
function cellsOf(line: string): Range[] {
  const cells: Range[] = [];
  let from = 0;
  for (const { index } of line.matchAll(/(?<!\\)\||$/g)) {
    cells.push([from, index]);
    from = index + 1;
  }
  return cells;
}

/** Adds the spans of code between two places of a text that no block begins or ends between. */
function pushSpans(text: string, from: number, to: number, code: Range[]): void {
  const prose = text.slice(from, to);
  const runs = new Map<number, number[]>();
  for (const { 0: run, index } of prose.matchAll(/`+/g)) {
    const known = runs.get(run.length);
    if (known === undefined) runs.set(run.length, [index]);
    else known.push(index);
  }
  if (runs.size === 0) return;
  for (const places of runs.values()) places.reverse();
  const next = /\\[^]|`+/g;
  for (let found = next.exec(prose); found !== null; found = next.exec(prose)) {
    const { 0: run, index } = found;
    if (run.startsWith("\\")) continue;
    // The first run of as many behind it closes it; what is before it can close nothing any more.
    const places = runs.get(run.length) ?? [];
    while ((places.at(-1) ?? Infinity) <= index) places.pop();
    const close = places.at(-1);
    if (close === undefined) continue;
    code.push([from + index, from + close + run.length]);
    next.lastIndex = close + run.length;
  }
}
