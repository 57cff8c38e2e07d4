import { diffPage, type PageDiff } from "./diff-page.ts";
import { readHumanMarks } from "./human-marks.ts";
import { frontmatterBlock } from "./outline.ts";
import type { TreeNode } from "./page-tree.ts";
import type { ParsedNode } from "./parse-okf.ts";
import type { Writer } from "./scope.ts";
import { findTextProblem } from "./text.ts";
import { writeOutline } from "./write-outline.ts";

const longestPage = 1_000_000;

/** What keeps a text from being a page, in words for whoever wrote it; undefined where nothing does. */
export function findOkfProblem(okf: string): string | undefined {
  const problem = findTextProblem(okf);
  if (problem !== undefined) return `The text cannot be stored: ${problem}.`;
  if (okf.length > longestPage) return `The text has ${okf.length} characters; a page has at most ${longestPage}.`;
  return undefined;
}

/**
 * Diffs with what the database knows of ids that are not among `known`. One that no node ever had is the page's from then
 * on, one that a node of it had before is so still; one that a node has now, or that is of those `outside` of what is edited, stays that one's. Of two
 * pages that are given one id at once, one has it.
 */
export async function diffWithin(
  { tx }: Writer,
  pageId: string,
  known: readonly TreeNode[],
  parsed: readonly ParsedNode[],
  outside: ReadonlySet<string> = new Set(),
): Promise<PageDiff> {
  const own = new Set(known.map(({ id }) => id));
  const carried = parsed.flatMap(({ id }) => (id === undefined || own.has(id) ? [] : [id]));
  if (carried.length === 0) return diffPage(known, parsed);
  // In one order, so that two with the same ids wait for each other one way only.
  await tx`
    insert into node_ids (id, page_id)
    select distinct id, ${pageId}::uuid from unnest(${carried}::uuid[]) as c (id) order by id
        on conflict (id) do nothing`;
  const rows = await tx<{ id: string }[]>`
    select id from node_ids i
     where id = any(${carried}::uuid[]) and page_id = ${pageId} and not exists (select from nodes n where n.id = i.id)`;
  const claimed = new Set(rows.map(({ id }) => id));
  return diffPage(known, parsed, (id) => claimed.has(id) && !outside.has(id));
}

/**
 * Only a person's own action says that a person verified something; what stood there already may stay. What not every
 * program reads alike is refused too: it could say so to some.
 */
export function findNewMarks(writer: Writer, before: string, after: string): string | undefined {
  if (before === after || isPerson(writer)) return undefined;
  const read = readHumanMarks(after, { isStrict: true });
  if (read.kind === "unclear") {
    return `Only a person can store frontmatter that is not clear to every program: ${read.reason}. Put it right.`;
  }
  if (read.marks.length === 0) return undefined;
  const old = readHumanMarks(before, { isStrict: false });
  const known = new Set(old.kind === "read" ? old.marks : []);
  const added = read.marks.filter((mark) => !known.has(mark)).map((mark) => Array.from(mark).slice(0, 100).join(""));
  if (added.length === 0) return undefined;
  return `Only a person can say that a person verified a page: leave ${added.join(", ")} out of \`verified\`.`;
}

/**
 * Why the page would begin with what some programs take for frontmatter, and we do not, where a program makes it so:
 * undefined where it does not.
 */
export function findFalseHead(
  writer: Writer,
  before: readonly TreeNode[],
  { frontmatter, nodes }: { readonly frontmatter: string; readonly nodes: readonly TreeNode[] },
): string | undefined {
  if (isPerson(writer) || frontmatterBlock.test(frontmatter)) return undefined;
  const start = (list: readonly TreeNode[]): string => writeOutline(frontmatter, list.slice(0, 1));
  if (!beginsAsHead(start(nodes)) || start(before) === start(nodes)) return undefined;
  return "A page cannot begin with a line of dashes: some programs take what follows for frontmatter. Begin otherwise.";
}

/** Whether a text, put first, would be read as the beginning of frontmatter. */
export function beginsAsHead(text: string): boolean {
  return /^[\s\uFEFF]*-{3,}[ \t]*(?:[\r\n\u0085\u2028\u2029]|$)/.test(text);
}

/** Whether a person writes: said so, or no tool call does. */
export function isPerson(writer: Writer): boolean {
  return writer.isPerson ?? writer.call === undefined;
}
