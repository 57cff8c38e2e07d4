import { v7 as newId } from "uuid";
import { recordCommand } from "./commands.ts";
import { lookupPage, type Page } from "./lookup.ts";
import { visiblePages, type Reader, type Writer } from "./scope.ts";
import { findTextProblem, findTitleProblem, slugOf } from "./text.ts";

export interface NewPage {
  readonly title: string;
  /** Directories joined by slashes; the root unless given. */
  readonly dir?: string | undefined;
}

export type CreatePageResult =
  | { readonly kind: "created"; readonly page: Page }
  | { readonly kind: "exists"; readonly page: Page }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Creates an empty page at revision 1, with its command. Where `lookupPage` already finds a page by that title, in any
 * directory, nothing is written; two creators of one title at once are one page. A directory that exists under another
 * spelling of the same slugs is used as it is.
 */
export async function createPage(writer: Writer, asked: NewPage): Promise<CreatePageResult> {
  const title = asked.title.trim();
  const titleProblem = findTitleProblem(title);
  if (titleProblem !== undefined) return { kind: "refused", reason: `The title cannot be used: ${titleProblem}.` };
  const dirProblem = findDirProblem(asked.dir ?? "");
  if (dirProblem !== undefined) return { kind: "refused", reason: `The directory cannot be used: ${dirProblem}.` };

  await lockTitle(writer, title);
  const known = await lookupPage(writer, title);
  if (known.kind === "found") return { kind: "exists", page: known.page };
  if (known.kind === "ambiguous" && known.pages[0] !== undefined) return { kind: "exists", page: known.pages[0] };

  const page = await insertPage(writer, {
    dir: await ensureDir(writer, asked.dir ?? ""),
    title,
    type: "Page",
    frontmatter: `---\ntype: Page\ntitle: ${JSON.stringify(title)}\n---\n\n`,
    lineEnd: "\n",
    fileName: null,
  });
  const { dir, slug, type, revision } = page;
  await recordCommand(writer, {
    pageId: page.id,
    revision,
    kind: "page.created",
    before: null,
    after: { dir, title, slug, type },
  });
  return { kind: "created", page };
}

export interface PageToInsert {
  readonly dir: string;
  readonly title: string;
  readonly type: string;
  readonly frontmatter: string;
  readonly lineEnd: "\n" | "\r\n";
  readonly fileName: string | null;
}

/** Inserts a page at revision 1 under the first free slug of its title in its directory; writes no command. */
export async function insertPage({ tx, workspaceId }: Writer, page: PageToInsert): Promise<Page> {
  const base = slugOf(page.title);
  for (let n = 1; ; n += 1) {
    const slug = n === 1 ? base : `${base}-${n}`;
    const [inserted] = await tx<Page[]>`
      insert into pages (id, workspace_id, dir, title, slug, type, frontmatter, line_end, file_name, revision)
      values (${newId()}, ${workspaceId}, ${page.dir}, ${page.title}, ${slug}, ${page.type}, ${page.frontmatter},
              ${page.lineEnd}, ${page.fileName}, 1)
      on conflict (workspace_id, dir, slug) do nothing
      returning id, dir, title, slug, type, revision`;
    if (inserted !== undefined) return inserted;
  }
}

/** No index keeps two directories from holding one title, which imports may do; creators of a title take turns instead. */
async function lockTitle({ tx, workspaceId }: Writer, title: string): Promise<void> {
  const folded = title.normalize("NFKC").toLowerCase();
  await tx`select pg_advisory_xact_lock(hashtextextended(${`page ${workspaceId} ${folded}`}, 0))`;
}

function findDirProblem(dir: string): string | undefined {
  const problem = findTextProblem(dir);
  if (problem !== undefined) return problem;
  if (dir.length > 300) return `it has ${dir.length} characters; a directory has at most 300`;
  const parts = partsOf(dir);
  const odd = parts.find((part) => !/[\p{L}\p{N}]/u.test(part));
  return odd === undefined ? undefined : `its part ${JSON.stringify(odd)} holds no letter or digit`;
}

async function ensureDir(reader: Reader, dir: string): Promise<string> {
  const wanted = slugsOf(dir);
  const rows = await reader.tx<{ dir: string }[]>`select distinct dir from ${visiblePages(reader)} p order by dir`;
  return rows.find((row) => slugsOf(row.dir) === wanted)?.dir ?? wanted;
}

function slugsOf(dir: string): string {
  return partsOf(dir).map(slugOf).join("/");
}

function partsOf(dir: string): string[] {
  return dir.split("/").filter((part) => part.trim() !== "");
}
