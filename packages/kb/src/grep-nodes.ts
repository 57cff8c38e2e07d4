import { isTooLong, readBriefly } from "./read-briefly.ts";
import { manyVisibleNodes, showPages, visibleNodes, visiblePages, type Reader } from "./scope.ts";
import { findTextProblem } from "./text.ts";

export interface GrepQuery {
  readonly pattern: string;
  /** Reads the pattern as a POSIX regular expression; else every character stands for itself. Case never matters. */
  readonly regex?: boolean | undefined;
  /** The most matches given back, 100 unless stated; the total counts all. */
  readonly limit?: number | undefined;
}

export interface Match {
  readonly pageTitle: string;
  readonly pageId: string;
  readonly nodeId: string;
  /** The node's text; of a long one at most 300 characters around the first match, with … where it is cut. */
  readonly excerpt: string;
}

export type GrepResult =
  | { readonly kind: "found"; readonly matches: readonly Match[]; readonly total: number }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "timeout" };

const excerptLength = 300;
const invalidRegularExpression = "2201B";

/**
 * Every node whose text holds the pattern, by page title and then by age, and how many there are. Reads only, for at most
 * 1 s. Back-references and `***` are refused: their cost has no bound, and `***` changes what a pattern means.
 */
export async function grepNodes(reader: Reader, query: GrepQuery): Promise<GrepResult> {
  const { tx } = reader;
  const problem = findPatternProblem(query);
  if (problem !== undefined) return { kind: "refused", reason: problem };
  const { pattern } = query;
  const literal = `%${pattern.replaceAll(/[\\%_]/g, "\\$&")}%`;
  const condition = query.regex ? tx`text ~* ${pattern}` : tx`text ilike ${literal}`;
  const position = query.regex
    ? tx`regexp_instr(n.text, ${pattern}, 1, 1, 0, 'i')`
    : tx`position(lower(${pattern}) in lower(n.text))`;
  try {
    const rows = await readBriefly(
      reader,
      () => tx<(Match & { total: number; isCutBefore: boolean; isCutAfter: boolean })[]>`
      with hits as materialized (select id, page_id from ${manyVisibleNodes(reader)} n where ${condition}),
           shown as (
             select h.id, p.title, p.id as page_id, (select count(*) from hits) as total
               from hits h join ${visiblePages(reader)} p on p.id = h.page_id
              order by p.title, p.id, h.id
              limit ${query.limit ?? 100}),
           placed as (
             select s.*, n.text, greatest(${position} - 80, 1) as start
               from shown s join ${visibleNodes(reader)} n on n.id = s.id)
      select title as "pageTitle", page_id as "pageId", id as "nodeId", total,
             substring(text from case when length(text) <= ${excerptLength} then 1 else start end for ${excerptLength}) as excerpt,
             length(text) > ${excerptLength} and start > 1 as "isCutBefore",
             length(text) > ${excerptLength} and start + ${excerptLength} <= length(text) as "isCutAfter"
        from placed order by title, page_id, id`,
    );
    showPages(
      reader,
      rows.map(({ pageId }) => pageId),
    );
    const matches = rows.map(({ pageTitle, pageId, nodeId, excerpt, isCutBefore, isCutAfter }) => ({
      pageTitle,
      pageId,
      nodeId,
      excerpt: `${isCutBefore ? "…" : ""}${excerpt}${isCutAfter ? "…" : ""}`,
    }));
    return { kind: "found", matches, total: rows[0]?.total ?? 0 };
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    if (isTooLong(error)) return { kind: "timeout" };
    if (error.code === invalidRegularExpression) {
      return { kind: "refused", reason: `The pattern is no regular expression: ${error.message}.` };
    }
    throw error;
  }
}

function findPatternProblem({ pattern, regex }: GrepQuery): string | undefined {
  const problem = findTextProblem(pattern);
  if (problem !== undefined) return `The pattern cannot be searched: ${problem}.`;
  if (pattern === "") return "The pattern is empty; it needs at least one character.";
  if (!regex) return undefined;
  if (pattern.startsWith("***")) return "A pattern must not begin with ***; write a plain regular expression.";
  if (/^(?:[^\\]|\\[^1-9])*\\[1-9]/s.test(pattern)) {
    return "Back-references (\\1 to \\9) are not supported; write the text out, or grep for a part of it.";
  }
  return undefined;
}
