import { loadPage, type LoadedPage } from "./load-page.ts";
import { listBacklinks, listLinked, type LinkedPage } from "./page-links.ts";
import { visiblePages, type Reader } from "./scope.ts";
import { writeOutline, type WriteOptions } from "./write-outline.ts";

/** A page as it is read, with what hangs on it. */
export interface PageView {
  readonly page: LoadedPage;
  readonly labels: readonly string[];
  readonly backlinks: readonly LinkedPage[];
  /** Frontmatter and outline, every bullet with its id unless told otherwise. */
  readonly okf: string;
}

const mostBacklinks = 20;

/** A page as it is read; undefined where the reader sees no such page. */
export async function viewPage(
  reader: Reader,
  pageId: string,
  options: WriteOptions = { withIds: true },
): Promise<PageView | undefined> {
  const page = await loadPage(reader, pageId);
  if (page === undefined) return undefined;
  const [row] = await reader.tx<
    { labels: string[] }[]
  >`select labels from ${visiblePages(reader)} p where id = ${pageId}`;
  return {
    page,
    labels: row?.labels ?? [],
    backlinks: await listBacklinks(reader, pageId, mostBacklinks),
    okf: writeOutline(page.frontmatter, page.nodes, options),
  };
}

/** The pages that are reached from a page over at most `depth` links, nearest first, without itself, up to `limit`. */
export async function listReached(reader: Reader, pageId: string, depth: number, limit: number): Promise<LinkedPage[]> {
  const reached = new Map<string, LinkedPage>();
  let level = [pageId];
  for (let step = 0; step < depth && reached.size < limit; step += 1) {
    const next: string[] = [];
    for (const id of level) {
      for (const linked of await listLinked(reader, id, limit + 1)) {
        if (linked.id === pageId || reached.has(linked.id) || reached.size >= limit) continue;
        reached.set(linked.id, linked);
        next.push(linked.id);
      }
    }
    level = next;
  }
  return [...reached.values()];
}
