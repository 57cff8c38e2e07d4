import { loadPage } from "./load-page.ts";
import { showPages, visiblePages, type Reader } from "./scope.ts";
import { writeOutline } from "./write-outline.ts";

export interface Corpus {
  readonly text: string;
  readonly pageCount: number;
  /** How many pages did not fit. */
  readonly omitted: number;
}

/** Every page that the reader sees, by title, without frontmatter and ids, up to `maxChars`; the last one may be cut. */
export async function readCorpus(reader: Reader, maxChars: number): Promise<Corpus> {
  const pages = await reader.tx<{ id: string; title: string; total: number }[]>`
    select id, title, count(*) over () as total from ${visiblePages(reader)} p order by title, id limit ${maxChars}`;
  const { shown: _shown, ...unseen } = reader;
  const parts: string[] = [];
  let left = maxChars;
  for (const { id, title } of pages) {
    const page = await loadPage(unseen, id);
    if (page === undefined) continue;
    const part = `# ${title}\n\n${writeOutline("", page.nodes).trim()}\n\n`;
    if (part.length > left && parts.length > 0) break;
    showPages(reader, [id]);
    if (part.length > left) {
      parts.push(part.slice(0, left).toWellFormed());
      break;
    }
    parts.push(part);
    left -= part.length;
  }
  return { text: parts.join(""), pageCount: parts.length, omitted: (pages[0]?.total ?? 0) - parts.length };
}
