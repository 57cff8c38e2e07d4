import { v7 as newId } from "uuid";
import { diffWithin, findNewMarks, findOkfProblem } from "./check-okf.ts";
import { recordCommand } from "./commands.ts";
import { namesOf, storeNodes } from "./commit-change.ts";
import { findDirectory, keepDirectory, mayWriteIn } from "./directories.ts";
import { followRenames } from "./follow-renames.ts";
import { readFrontmatter } from "./frontmatter.ts";
import { findPageIn, lookupPage, type Page } from "./lookup.ts";
import { keepFile } from "./page-files.ts";
import type { TreeNode } from "./page-tree.ts";
import { parseOkf } from "./parse-okf.ts";
import { planChanges } from "./plan-changes.ts";
import { showPages, type Writer } from "./scope.ts";
import { resolveWaiting, storeLinks } from "./store-links.ts";
import { lockTitle } from "./taken-titles.ts";
import { findTitleProblem, slugOf } from "./text.ts";
import { withTitle } from "./title-in-frontmatter.ts";

export interface NewPage {
  readonly title: string;
  /** Directories joined by slashes; the root unless given. */
  readonly dir?: string | undefined;
  /** Whether only a page of this title in `dir` keeps it from being made; else any page of this name, wherever it stands. */
  readonly isOnlyIn?: boolean;
  /** What it holds; nothing unless given. */
  readonly okf?: string | undefined;
}

export type CreatePageResult =
  | {
      readonly kind: "created";
      readonly page: Page;
      readonly commandId: string;
      readonly nodeCount: number;
      readonly warnings: readonly string[];
    }
  | { readonly kind: "exists"; readonly page: Page }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Creates a page at revision 1, with its command. Where `lookupPage` already finds a page by that title, in any
 * directory, nothing is written; of two who give one title at once, one does. A directory that exists under another
 * spelling is used as it is.
 */
export async function createPage(writer: Writer, asked: NewPage): Promise<CreatePageResult> {
  const title = asked.title.trim();
  const titleProblem = findTitleProblem(title);
  if (titleProblem !== undefined) return { kind: "refused", reason: `The title cannot be used: ${titleProblem}.` };
  const { okf = "" } = asked;
  const okfProblem = findOkfProblem(okf);
  if (okfProblem !== undefined) return { kind: "refused", reason: okfProblem };

  await lockTitle(writer, title);
  if (asked.isOnlyIn === true) {
    const page = await findPageIn(writer, title, asked.dir ?? "");
    if (page !== undefined) return { kind: "exists", page };
  }
  const known = asked.isOnlyIn === true ? { kind: "missing" as const } : await lookupPage(writer, title);
  if (known.kind === "found") return { kind: "exists", page: known.page };
  if (known.kind === "ambiguous" && known.pages[0] !== undefined) return { kind: "exists", page: known.pages[0] };

  const parsed = parseOkf(okf);
  const head = /^\uFEFF?---/.test(parsed.frontmatter) ? parsed.frontmatter : "---\ntype: Page\n---\n\n";
  const titled = withTitle(head, title);
  // One that cannot be changed may stay where it says no other title.
  if (titled.kind === "refused" && (readFrontmatter(head).title ?? title) !== title) return titled;
  const frontmatter = titled.kind === "written" ? titled.frontmatter : head;
  const marks = findNewMarks(writer, "", frontmatter);
  if (marks !== undefined) return { kind: "refused", reason: marks };
  const place = await findDirectory(writer, asked.dir ?? "");
  if (place.kind === "refused") return place;
  const { dir } = place;
  if (!(await mayWriteIn(writer, dir))) {
    return { kind: "refused", reason: `You may not create pages in ${dir === "" ? "the top directory" : dir}.` };
  }
  const id = newId();
  const { wanted, warnings } = await diffWithin(writer, id, [], parsed.nodes);
  const inserted = await insertPage(writer, {
    id,
    kind: "page.created",
    dir,
    title,
    frontmatter,
    lineEnd: "\n",
    fileName: null,
    nodes: wanted,
  });
  return { kind: "created", ...inserted, nodeCount: wanted.length, warnings };
}

export interface PageToInsert {
  /** A new one, for which its nodes have their ids. */
  readonly id: string;
  readonly kind: "page.created" | "page.imported";
  readonly dir: string;
  /** The title where the frontmatter gives none. */
  readonly title: string;
  readonly frontmatter: string;
  readonly lineEnd: "\n" | "\r\n";
  readonly fileName: string | null;
  /** In page order. */
  readonly nodes: readonly TreeNode[];
}

/**
 * Inserts a page at revision 1 with its nodes, links and command, and resolves the links that waited for it. Its slug is
 * its title's, also where another page has it: the reader may not see that one, and is not to learn of it.
 */
export async function insertPage(writer: Writer, page: PageToInsert): Promise<{ page: Page; commandId: string }> {
  const { tx, workspaceId } = writer;
  const names = namesOf(page.frontmatter, page.title);
  await keepDirectory(writer, page.dir);
  const [inserted] = await tx<Page[]>`
    insert into pages (id, workspace_id, dir, title, slug, type, frontmatter, line_end, file_name, revision,
                       labels, aliases, names, name_words, problem)
    values (${page.id}, ${workspaceId}, ${page.dir}, ${names.title}, ${slugOf(names.title)}, ${names.type},
            ${page.frontmatter}, ${page.lineEnd}, ${page.fileName}, 1,
            ${names.labels}, ${names.aliases}, ${names.names}, ${names.words}::text::tsvector, ${names.problem})
    returning id, dir, title, slug, type, revision`;
  if (inserted === undefined) throw new Error(`The page ${JSON.stringify(names.title)} was not stored`);
  showPages(writer, [inserted.id]);
  await keepFile(writer, inserted.id, page.fileName === null ? null : 1);
  const changes = await followRenames(writer, inserted.id, planChanges([], page.nodes));
  await storeNodes(writer, inserted.id, changes);
  await storeLinks(writer, inserted, changes.inserted);
  await resolveWaiting(writer, { ...inserted, names: names.names, fileName: page.fileName });
  const { id: pageId, revision, title, dir } = inserted;
  const after = { page: { frontmatter: page.frontmatter, title, dir } };
  const commandId = await recordCommand(writer, { pageId, revision, kind: page.kind, before: null, after });
  return { page: inserted, commandId };
}
