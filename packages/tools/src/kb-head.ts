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

/** What a run saw of a page: a revision, whole or not, or that it changed under its hands. */
export type KnownRevision =
  | { readonly kind: "known"; readonly revision: number }
  | { readonly kind: "truncated"; readonly revision: number }
  /** Of a node with what is below it. */
  | { readonly kind: "part"; readonly revision: number }
  /** The run's own edit was put together with others', whose text it has not seen. */
  | { readonly kind: "merged" };

const head =
  /^title: [^\n]*\nid: ([0-9a-f-]{36})\ndir: [^\n]*\nrevision: (\d+)(?: \((truncated|merged|part)[^\n]*\))?\n((?:with: [0-9a-f-]{36} revision \d+\n)*)/;
const also = /^with: ([0-9a-f-]{36}) revision (\d+)$/gm;

/**
 * What this run saw of a page, the latest first, by the heads that its own results began with; nothing that a page says
 * can stand there.
 */
export async function listKnownRevisions(sql: Queryable, runId: string, pageId: string): Promise<KnownRevision[]> {
  const results = await sql<{ result: string }[]>`
    select result from tool_calls
     where run_id = ${runId} and status = 'done' and tool = any('{kb.read,kb.node.read,kb.edit,kb.node.edit,kb.create}'::text[])
       and position(${pageId} in result) > 0
     order by finished_at desc, id desc limit 50`;
  const seen = results.flatMap(({ result }) => readHead(String(JSON.parse(result)), pageId));
  return seen;
}

/** Tells the model why a revision that it names is not one to go by. */
export function explainUnseen(revision: number, seen: readonly KnownRevision[]): string {
  const shown = [...new Set(seen.flatMap((known) => ("revision" in known ? [known.revision] : [])))];
  const what = shown.length === 0 ? "nothing of it" : `it at ${shown.slice(0, 5).join(", ")}`;
  return `this run was not shown the page at revision ${revision}, but ${what}. Read it with kb.read, and edit that.`;
}

function readHead(content: string, pageId: string): KnownRevision[] {
  const [, id, revision = "", note, more = ""] = head.exec(content) ?? [];
  if (id === pageId) {
    if (note === "merged") return [{ kind: "merged" }];
    const kind = note === "truncated" || note === "part" ? note : "known";
    return [{ kind, revision: Number(revision) }];
  }
  const [shown] = [...more.matchAll(also)].filter(([, other]) => other === pageId);
  return shown?.[2] === undefined ? [] : [{ kind: "known", revision: Number(shown[2]) }];
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ");
}
