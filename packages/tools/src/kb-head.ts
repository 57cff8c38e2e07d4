import type { Queryable } from "@countersign/db/connect.ts";
import type { Page } from "@countersign/kb/lookup.ts";

/** The first lines of a result that shows a page or has changed one: what a later edit of the run goes by. */
export function headOf(page: Page, note = ""): string {
  const dir = page.dir === "" ? "(top)" : oneLine(page.dir);
  return `title: ${oneLine(page.title)}\nid: ${page.id}\ndir: ${dir}\nrevision: ${page.revision}${note === "" ? "" : ` (${note})`}\n`;
}

/** A further page that a result shows in full. */
export function alsoShown(page: Page): string {
  return `with: ${page.id} revision ${page.revision}\n`;
}

/** The note of a result that shows a node with all that is below it, or has written it. */
export function partOf(nodeId: string): string {
  return `part: node ${nodeId}`;
}

type Note = "whole" | "truncated" | "merged" | "part";

/** What the head of one result says of a page. */
export interface Head {
  readonly revision: number;
  readonly note: Note;
  /** The node that is shown, or was written, with all that is below it. */
  readonly nodeId: string | undefined;
  /** What stands below the head. */
  readonly text: string;
  readonly tool: string;
}

const head =
  /^title: [^\n]*\nid: ([0-9a-f-]{36})\ndir: [^\n]*\nrevision: (\d+)(?: \((truncated|merged|part)([^\n]*)\))?\n((?:with: [0-9a-f-]{36} revision \d+\n)*)/;
const also = /^with: ([0-9a-f-]{36}) revision (\d+)$/gm;
const wholeNode = /^: node ([0-9a-f-]{36})$/;

/**
 * What the results of this run say of a page, the earliest first, by the heads that they begin with; nothing that a page
 * says can stand there. Of very many results the latest count.
 */
export async function listHeads(sql: Queryable, runId: string, pageId: string): Promise<Head[]> {
  const results = await sql<{ tool: string; result: string }[]>`
    select tool, result from tool_calls
     where run_id = ${runId} and status = 'done'
       and tool = any('{kb.read,kb.node.read,kb.edit,kb.node.edit,kb.append,kb.create}'::text[])
       and position(${pageId} in result) > 0
     order by finished_at desc, id desc limit 50`;
  return results.flatMap(({ tool, result }) => readHead(tool, String(JSON.parse(result)), pageId)).toReversed();
}

function readHead(tool: string, content: string, pageId: string): Head[] {
  const [all = "", id, revision = "", note = "whole", rest = "", more = ""] = head.exec(content) ?? [];
  if (id === pageId) {
    const nodeId = wholeNode.exec(rest)?.[1];
    return [{ tool, revision: Number(revision), note: note as Note, nodeId, text: content.slice(all.length) }];
  }
  const [shown] = [...more.matchAll(also)].filter(([, other]) => other === pageId);
  if (shown?.[2] === undefined) return [];
  return [{ tool, revision: Number(shown[2]), note: "whole", nodeId: undefined, text: "" }];
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ");
}
