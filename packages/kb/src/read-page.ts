import { loadPage } from "./load-page.ts";
import type { Reader } from "./scope.ts";
import { writeOutline, type WriteOptions } from "./write-outline.ts";

export interface ReadPage {
  readonly markdown: string;
  readonly revision: number;
}

/**
 * The whole page as Markdown, its frontmatter first; an imported page that nobody changed comes out as it came in, but
 * for line ends, which are `\n`. `withIds` puts `<!--id-->` last on the first line of every bullet. Undefined where the
 * reader sees no such page.
 */
export async function readPage(
  reader: Reader,
  pageId: string,
  options: WriteOptions = {},
): Promise<ReadPage | undefined> {
  const page = await loadPage(reader, pageId);
  return page && { markdown: writeOutline(page.frontmatter, page.nodes, options), revision: page.revision };
}
