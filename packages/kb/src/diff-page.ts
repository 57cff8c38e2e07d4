import { v7 as newId } from "uuid";
import { matchNodes } from "./match-nodes.ts";
import { adoptNodes, type TreeNode } from "./page-tree.ts";
import type { ParsedNode } from "./parse-okf.ts";

export interface PageDiff {
  /** The page as the text wants it, in page order: known nodes under their ids, new ones under new ids. */
  readonly wanted: readonly TreeNode[];
  /** For whoever wrote the text: each id that could not be kept, and what became of it. */
  readonly warnings: readonly string[];
}

/**
 * What a page's text makes of the nodes it had. Ids that no node of the page has are kept where `isFree` says that no
 * other node has them either; else the node gets a new one, with a warning, and no node of another page ever moves.
 */
export function diffPage(
  known: readonly TreeNode[],
  parsed: readonly ParsedNode[],
  isFree: (id: string) => boolean = () => false,
): PageDiff {
  const match = matchNodes(known, parsed);
  const ids = match.known.map((n) => (n === undefined ? newId() : (known[n]?.id ?? newId())));
  const warnings: string[] = [];
  for (const n of match.duplicates) {
    warnings.push(
      `The id ${parsed[n]?.id} stands on more than one bullet; the first keeps it, ${nameOf(n)} has another.`,
    );
  }
  for (const n of match.strangers) {
    const id = parsed[n]?.id ?? "";
    if (match.known[n] === undefined && isFree(id)) ids[n] = id;
    else warnings.push(`The id ${id} belongs to no bullet of what was to be changed; ${nameOf(n)} has another.`);
  }
  return { wanted: adoptNodes(known, parsed, ids), warnings };

  function nameOf(n: number): string {
    const line = parsed[n]?.text.split("\n", 1)[0] ?? "";
    const short = Array.from(line).slice(0, 60).join("");
    return `${JSON.stringify(short)} (now ${ids[n]})`;
  }
}
