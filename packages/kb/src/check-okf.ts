import { diffPage, type PageDiff } from "./diff-page.ts";
import { readFrontmatter } from "./frontmatter.ts";
import type { TreeNode } from "./page-tree.ts";
import type { ParsedNode } from "./parse-okf.ts";
import type { Writer } from "./scope.ts";
import { findTextProblem } from "./text.ts";

const longestPage = 1_000_000;

/** What keeps a text from being a page, in words for whoever wrote it; undefined where nothing does. */
export function findOkfProblem(okf: string): string | undefined {
  const problem = findTextProblem(okf);
  if (problem !== undefined) return `The text cannot be stored: ${problem}.`;
  if (okf.length > longestPage) return `The text has ${okf.length} characters; a page has at most ${longestPage}.`;
  return undefined;
}

/** Diffs with what the database knows of ids that the page does not have. */
export async function diffWithin(
  { tx }: Writer,
  known: readonly TreeNode[],
  parsed: readonly ParsedNode[],
): Promise<PageDiff> {
  const own = new Set(known.map(({ id }) => id));
  const carried = parsed.flatMap(({ id }) => (id === undefined || own.has(id) ? [] : [id]));
  if (carried.length === 0) return diffPage(known, parsed);
  const rows = await tx<{ id: string }[]>`select id from nodes where id = any(${carried}::uuid[])`;
  const taken = new Set(rows.map(({ id }) => id));
  return diffPage(known, parsed, (id) => !taken.has(id));
}

/** Only a person's own action says that a person verified something; what stood there already may stay. */
export function findNewMarks(writer: Writer, before: string, after: string): string | undefined {
  if (before === after || (writer.isPerson ?? writer.call === undefined)) return undefined;
  const known = new Set(readFrontmatter(before).humanMarks);
  const added = readFrontmatter(after).humanMarks.filter((mark) => !known.has(mark));
  if (added.length === 0) return undefined;
  return `Only a person can say that a person verified a page: leave ${added.join(", ")} out of \`verified\`.`;
}
