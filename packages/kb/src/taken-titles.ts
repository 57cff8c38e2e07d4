import { foldName } from "./fold.ts";
import { lookupPage, type Page } from "./lookup.ts";
import type { Writer } from "./scope.ts";

/**
 * Takes turns with whoever gives a page this title until the transaction ends. No index keeps two pages from having one,
 * which imports may do. A page that is locked is locked before its title.
 */
export async function lockTitle({ tx, workspaceId }: Writer, title: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`page ${workspaceId} ${foldName(title)}`}, 0))`;
}

/** Whether another page than this one is called so, by its title or an alias; nobody gives it to one meanwhile. */
export async function isTaken(writer: Writer, pageId: string, title: string): Promise<boolean> {
  await lockTitle(writer, title);
  const other = await lookupPage(writer, title);
  return other.kind === "ambiguous" || (other.kind === "found" && other.page.id !== pageId);
}

/** Why a page cannot be given this title, in words for whoever gives it; undefined where it can. */
export async function findTakenTitle(
  writer: Writer,
  page: Pick<Page, "id" | "title">,
  title: string,
): Promise<string | undefined> {
  const isOther = foldName(title) !== foldName(page.title) && (await isTaken(writer, page.id, title));
  return isOther ? `There already is a page "${title}"; titles are unique, so choose another.` : undefined;
}
