import { commitChange } from "./commit-change.ts";
import { recordCommand } from "./commands.ts";
import { findDirectory, keepDirectory, mayWriteIn } from "./directories.ts";
import { type LoadedPage, lockPage } from "./load-page.ts";
import type { Page } from "./lookup.ts";
import { keepFile } from "./page-files.ts";
import { lockRenames } from "./rename-everywhere.ts";
import type { Writer } from "./scope.ts";
import { resolveWaiting } from "./store-links.ts";
import { findTakenTitle } from "./taken-titles.ts";
import { findTitleProblem, slugOf } from "./text.ts";
import { type TitledFrontmatter, withTitle } from "./title-in-frontmatter.ts";

export interface PageMove {
  readonly pageId: string;
  readonly title?: string | undefined;
  readonly dir?: string | undefined;
}

export type MovePageResult =
  | { readonly kind: "moved"; readonly page: Page; readonly renamedLinks: number }
  | { readonly kind: "unchanged"; readonly page: Page }
  | { readonly kind: "forbidden" }
  | { readonly kind: "refused"; readonly reason: string };

/** Gives a page another title, in its frontmatter and in the links to it, and another directory; a command for each. */
export async function movePage(writer: Writer, { pageId, title, dir }: PageMove): Promise<MovePageResult> {
  const problem = title === undefined ? undefined : findTitleProblem(title);
  if (problem !== undefined) return { kind: "refused", reason: `The title cannot be used: ${problem}.` };
  await lockRenames(writer);
  const page = await lockPage(writer, pageId);
  if (page === undefined) return { kind: "forbidden" };
  const wantedTitle = title?.trim() ?? page.title;
  const titled = wantedTitle === page.title ? undefined : await findTitled(writer, page, wantedTitle);
  if (titled?.kind === "refused") return titled;
  let moved: Page = page;
  if (dir !== undefined) {
    const wanted = await findDirectory(writer, dir);
    if (wanted.kind === "refused") return wanted;
    if (!(await mayWriteIn(writer, wanted.dir)))
      return { kind: "refused", reason: `You may not write in ${wanted.dir || "the top directory"}.` };
    if (wanted.dir !== page.dir) moved = await changeDir(writer, page, wanted.dir);
  }
  if (titled === undefined)
    return moved === page ? { kind: "unchanged", page } : { kind: "moved", page: moved, renamedLinks: 0 };
  const change = { kind: "page.moved" as const, frontmatter: titled.frontmatter, nodes: page.nodes };
  const committed = await commitChange(writer, { ...page, ...moved }, change);
  if (committed === undefined) throw new Error(`The title of page ${page.id} did not change`);
  return { kind: "moved", page: committed.page, renamedLinks: committed.renamedLinks };
}

/** The page's frontmatter with a title that no other page has. */
async function findTitled(writer: Writer, page: LoadedPage, title: string): Promise<TitledFrontmatter> {
  const reason = await findTakenTitle(writer, page, title);
  if (reason !== undefined) return { kind: "refused", reason };
  return withTitle(page.frontmatter, title);
}

async function changeDir(writer: Writer, page: LoadedPage, dir: string): Promise<Page> {
  await keepDirectory(writer, dir);
  await resolveWaiting(writer, { ...page, names: [] });
  const [after] = await writer.tx<Page[]>`
    update pages set dir = ${dir}, slug = ${slugOf(page.title)}, revision = revision + 1, updated_at = clock_timestamp()
     where id = ${page.id}
    returning id, dir, title, slug, type, revision`;
  if (after === undefined) throw new Error(`Page ${page.id} vanished while it was locked`);
  await keepFile(writer, page.id);
  await recordCommand(writer, {
    pageId: page.id,
    revision: after.revision,
    kind: "page.moved",
    before: { page: { dir: page.dir } },
    after: { page: { dir } },
  });
  return after;
}
