export type NodeKind = "bullet" | "heading" | "paragraph" | "table" | "fence";

/** How a node stood in its file: what was before its first line, before its further lines, and after it. */
export interface Shape {
  readonly lead: string;
  readonly hang: string;
  readonly trail: string;
}

/** A node as `parseOutline` finds it; `parent` is an index into the same list, which is in the order of the file. */
export interface OutlineNode {
  readonly kind: NodeKind;
  readonly parent: number | null;
  readonly text: string;
  readonly shape: Shape;
}

export interface Outline {
  /** The exact text above the first node: frontmatter, a byte order mark, blank lines. */
  readonly frontmatter: string;
  readonly lineEnd: "\n" | "\r\n";
  readonly nodes: readonly OutlineNode[];
}

/** The block of YAML above a page, without its fences; its lines may end in `\r\n` where others do not. */
export const frontmatterBlock = /^\uFEFF?---[ \t]*\r?\n((?:[^\n]*\n)*?)---[ \t]*(?:\r?\n|$)/;

interface Draft {
  readonly index: number;
  kind: NodeKind;
  readonly parent: number | null;
  readonly lead: string;
  readonly first: string;
  readonly more: string[];
  /** The columns where its marker and its text begin. */
  readonly indent: number;
  readonly content: number;
  trail: string;
}

interface Fence {
  readonly mark: string;
  /** The column of the bullet that holds the fence; undefined for a fence that is a node of its own. */
  readonly bulletIndent: number | undefined;
}

const bulletLine = /^([ \t]*)([-*+])(?:([ \t]+)(.*))?$/s;
/** Nothing, or the id of a bullet whose text begins on the next line. */
const emptyText = /^(?:<!--[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-->[ \t]*)?$/i;
const headingLine = /^[ \t]*#{1,6}(?:[ \t\r]|$)/;
const breakLine = /^[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t\r]*$/;
const fenceStart = /^[ \t]*(`{3,}(?=[^`]*$)|~{3,})/s;
const tableRuleCell = /^[ \t]*:?-+:?[ \t]*$/;

/**
 * Reads Markdown as an outliner does: a bullet is a bullet however it is indented, its further lines belong to it, and
 * everything else becomes a heading, paragraph, table or fence verbatim. Line by line rather than by CommonMark, which
 * reads tab-indented bullets below a heading as code. No character is lost: `writeOutline` gives the same text back. Lines
 * end as in the file, where all of them end alike, unless `lineEnd` says how.
 */
export function parseOutline(source: string, lineEnd: "\n" | "\r\n" = findLineEnd(source)): Outline {
  const body = lineEnd === "\n" ? source : source.replaceAll("\r\n", "\n");
  const frontmatter = (frontmatterBlock.exec(body)?.[0] ?? "") || (body.startsWith("\uFEFF") ? "\uFEFF" : "");
  const drafts: Draft[] = [];
  const above = readLines(body.slice(frontmatter.length), drafts);
  return { frontmatter: frontmatter + above, lineEnd, nodes: drafts.map(finishNode) };
}

function findLineEnd(source: string): "\n" | "\r\n" {
  return /\r\n/.test(source) && !/(?:^|[^\r])\n/.test(source) ? "\r\n" : "\n";
}

/** True for a line that shows nothing. */
export function isBlankLine(line: string): boolean {
  return /^[ \t\r]*$/.test(line);
}

/** True where a text opens with a block that nothing may follow on its first line. */
export function startsBlock(text: string): boolean {
  return fenceStart.test(text.split("\n", 1)[0] ?? "") || text.startsWith("|");
}

/** Fills `drafts` and returns the blank lines above the first of them. */
function readLines(body: string, drafts: Draft[]): string {
  const open: Draft[] = [];
  let current: Draft | undefined;
  let fence: Fence | undefined;
  let blanks = "";

  function begin(kind: NodeKind, lead: string, first: string, content: number): void {
    const indent = columnsOf(/^[ \t]*/.exec(lead)?.[0] ?? "");
    while (open.length > 0 && !isInside(kind, indent, open.at(-1))) open.pop();
    if (current !== undefined) current.trail += blanks;
    const parent = open.at(-1)?.index ?? null;
    current = {
      index: drafts.length,
      kind,
      parent,
      lead,
      first,
      more: [],
      indent,
      content,
      trail: "",
    };
    drafts.push(current);
    open.push(current);
  }

  function goOn(node: Draft, line: string): void {
    for (const further of `${blanks}${line}`.split("\n")) node.more.push(further);
  }

  let above = "";
  const pieces = body.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  for (const [n, piece] of pieces.entries()) {
    const line = piece.endsWith("\n") ? piece.slice(0, -1) : piece;
    if (isBlankLine(line)) {
      if (current === undefined) above += piece;
      else blanks += piece;
      continue;
    }
    const spaces = /^[ \t]*/.exec(line)?.[0] ?? "";
    const indent = indentOf(line);
    const bullet = breakLine.test(line) ? null : bulletLine.exec(line);

    if (fence !== undefined && bullet && fence.bulletIndent !== undefined && indent <= fence.bulletIndent)
      fence = undefined;
    if (fence !== undefined && current !== undefined) {
      goOn(current, line);
      if (closesFence(fence, line)) fence = undefined;
    } else if (bullet) {
      const [, , marker = "", gap = "", text = ""] = bullet;
      const lead = spaces + marker + gap;
      const wide = contentColumnOf(lead);
      const isWide = emptyText.test(text) ? text !== "" && indentOf(pieces[n + 1] ?? "") >= wide : true;
      begin("bullet", lead, text, isWide ? wide : indent + 2);
      fence = openFence(text, indent);
    } else if (current?.kind === "bullet" && indent >= current.content) {
      goOn(current, line);
      fence = openFence(line, current.indent);
    } else if (fenceStart.test(line)) {
      begin("fence", spaces, line.slice(spaces.length), indent);
      fence = openFence(line, undefined);
    } else if (headingLine.test(line)) {
      begin("heading", spaces, line.slice(spaces.length), indent);
    } else if (blanks === "" && (current?.kind === "bullet" || current?.kind === "paragraph")) {
      goOn(current, line);
    } else {
      begin("paragraph", spaces, line.slice(spaces.length), indent);
    }
    blanks = "";
    if (current !== undefined) current.trail = piece.endsWith("\n") ? "\n" : "";
  }
  if (current !== undefined) current.trail += blanks;
  return above;
}

function isInside(kind: NodeKind, indent: number, outer: Draft | undefined): boolean {
  if (outer === undefined) return false;
  return indent >= (outer.kind === "bullet" && kind !== "bullet" ? outer.content : outer.indent + 2);
}

function openFence(text: string, bulletIndent: number | undefined): Fence | undefined {
  const mark = fenceStart.exec(text)?.[1];
  return mark === undefined ? undefined : { mark, bulletIndent };
}

function closesFence(fence: Fence, line: string): boolean {
  const mark = line.trim();
  return mark.length >= fence.mark.length && mark === fence.mark.charAt(0).repeat(mark.length);
}

function finishNode(draft: Draft): OutlineNode {
  const hang = sharedIndent(draft.more, draft.content);
  const more = draft.more.map((line) => (isBlankLine(line) ? line : line.slice(hang.length)));
  const kind = draft.kind === "paragraph" && isTable(draft) ? "table" : draft.kind;
  const shape = { lead: draft.lead, hang, trail: draft.trail };
  return { kind, parent: draft.parent, text: [draft.first, ...more].join("\n"), shape };
}

function isTable(draft: Draft): boolean {
  const rule = draft.more[0];
  return rule !== undefined && draft.first.includes("|") && rule.includes("|") && isTableRule(rule);
}

/** True for the line below a table's head. Cell by cell: one expression for all of it steps back over every blank. */
function isTableRule(line: string): boolean {
  let end = line.length;
  while (/[ \t\r]/.test(line.charAt(end - 1))) end -= 1;
  const cells = line.slice(0, end).split("|");
  if (cells.length > 1 && isBlankLine(cells[0] ?? "")) cells.shift();
  if (cells.length > 1 && cells.at(-1) === "") cells.pop();
  return cells.every((cell) => tableRuleCell.test(cell));
}

/** The blanks that all lines begin with, no wider than `columns`. */
export function sharedIndent(lines: readonly string[], columns: number): string {
  let shared: string | undefined;
  for (const line of lines) {
    if (isBlankLine(line)) continue;
    shared ??= /^[ \t]*/.exec(line)?.[0] ?? "";
    let common = 0;
    while (common < shared.length && line.charAt(common) === shared.charAt(common)) common += 1;
    shared = shared.slice(0, common);
  }
  return takeColumns(shared ?? "", columns);
}

/** As much of `blanks` as is no wider than `columns`. */
function takeColumns(blanks: string, columns: number): string {
  let column = 0;
  for (let n = 0; n < blanks.length; n += 1) {
    column = columnAfter(column, blanks.charAt(n));
    if (column > columns) return blanks.slice(0, n);
  }
  return blanks;
}

/** The column from which lines below a bullet with this marker and text behind it are its own. */
export function contentColumnOf(lead: string): number {
  const indent = indentOf(lead);
  const wide = columnsOf(lead);
  return wide <= indent + 5 ? wide : indent + 2;
}

function indentOf(line: string): number {
  return columnsOf(/^[ \t]*/.exec(line)?.[0] ?? "");
}

/** How many columns `text` takes from the start of a line. */
export function columnsOf(text: string): number {
  let column = 0;
  for (const character of text) column = columnAfter(column, character);
  return column;
}

/** Tab stops are every 4 columns. */
function columnAfter(column: number, character: string): number {
  return character === "\t" ? column - (column % 4) + 4 : column + 1;
}
