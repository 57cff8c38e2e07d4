import type { Tx } from "@countersign/db/connect.ts";
import type { CallContext, TransactionContext } from "@countersign/engine/tool.ts";
import type { Lookup, Page } from "@countersign/kb/lookup.ts";
import type { Reader, Writer } from "@countersign/kb/scope.ts";

/** The run's call as a writer of pages: it acts as the run's user, in the call's own transaction. */
export function writerOf({ tx, workspaceId, userId, runId, callId, shown }: TransactionContext): Writer {
  return { tx, workspaceId, userId, shown, call: { runId, callId } };
}

/** The run's user as a reader of pages, in a transaction that only reads. */
export function readerOf({ workspaceId, userId, shown }: AskingContext, tx: Tx): Reader {
  return { tx, workspaceId, userId, shown };
}

type AskingContext = Pick<CallContext, "workspaceId" | "userId" | "shown">;

/** Names a page so that the model can tell it from every other: title, directory and id. */
export function namePage(page: Page): string {
  return `"${page.title}"${page.dir === "" ? "" : ` in ${page.dir}`} (id ${page.id})`;
}

/** Tells the model why a page was not found, and what to ask for instead. */
export function explainLookup(asked: string, lookup: Exclude<Lookup, { kind: "found" }>): string {
  if (lookup.kind === "ambiguous") {
    const pages = lookup.pages.map((page) => `- ${namePage(page)}`).join("\n");
    return `Several pages are called "${asked}"; ask again with the id of the one you mean:\n${pages}`;
  }
  const nearest = lookup.nearest.map((title) => `"${title}"`).join(", ");
  return nearest === ""
    ? `There is no page "${asked}". Find pages with kb.grep, or create it with kb.create.`
    : `There is no page "${asked}". The nearest titles are ${nearest}. Use one of them, or create the page with kb.create.`;
}

/** Tells the model that the run's user may read a page and not change it. */
export function explainForbidden(page: Page): string {
  return `The user of this run may read page ${namePage(page)}, but not change it.`;
}
