import { commitChange } from "./commit-change.ts";
import { createPage } from "./create-page.ts";
import { diffWithin, findFalseHead, findNewMarks, findOkfProblem } from "./check-okf.ts";
import type { PageDiff } from "./diff-page.ts";
import { readFrontmatter } from "./frontmatter.ts";
import { describePage, lockPage, type LoadedPage } from "./load-page.ts";
import { lookupPage, type Lookup, type Page } from "./lookup.ts";
import { type Clash, mergeTrees } from "./merge-trees.ts";
import { asWritten, readPast, type PastPage, withLater } from "./page-history.ts";
import { parseOkf, type ParsedPage } from "./parse-okf.ts";
import { isEmpty, planChanges } from "./plan-changes.ts";
import { lockRenames } from "./rename-everywhere.ts";
import type { Writer } from "./scope.ts";
import { findTakenTitle } from "./taken-titles.ts";

export interface OkfEdit {
  /** A page's id or title; a title that no page has makes one, where no revision is given. */
  readonly page: string;
  /** The whole page as it shall be: frontmatter and outline, with or without node ids. */
  readonly okf: string;
  /** The revision that the writer saw. Where the page moved on since, the edit is merged; unless given, the current one. */
  readonly revision?: number | undefined;
  /** What the writer had made the page at that revision, where others' changes may have been merged into it. */
  readonly written?: string | undefined;
  /** Says why the writer cannot replace what it saw, given as the page was at `revision`; undefined where it can. */
  readonly findObjection?: ((past: PastPage) => string | undefined) | undefined;
  /** Where a page that has to be made goes. */
  readonly dir?: string | undefined;
}

export type ApplyOkfResult =
  | {
      readonly kind: "applied";
      readonly page: Page;
      readonly commandId: string;
      readonly isCreated: boolean;
      /** Others had changed the page since the revision that was seen: the page is what both made of it. */
      readonly isMerged: boolean;
      readonly added: number;
      readonly changed: number;
      readonly removed: number;
      readonly renamedLinks: number;
      readonly warnings: readonly string[];
    }
  /** Nothing was written. `isAsGiven`: the page is what was given, and not only untouched by it. */
  | {
      readonly kind: "unchanged";
      readonly page: Page;
      readonly isAsGiven: boolean;
      readonly warnings: readonly string[];
    }
  /** Others changed the same; nothing was written. */
  | {
      readonly kind: "stale";
      readonly page: Page;
      readonly nodeIds: readonly string[];
      readonly reason: string;
      readonly clashes?: readonly Clash[];
    }
  | { readonly kind: "forbidden"; readonly page: Page }
  | { readonly kind: "refused"; readonly reason: string }
  | Extract<Lookup, { kind: "ambiguous" }>;

/**
 * Makes a page what `okf` says, as one command in the transaction: what is as it was keeps its id and its bytes. A page
 * that is not there is made. Frontmatter that is left out stays. Only a person's own edit may say that a person verified.
 */
export async function applyOkf(writer: Writer, edit: OkfEdit): Promise<ApplyOkfResult> {
  const problem = findOkfProblem(edit.okf);
  if (problem !== undefined) return { kind: "refused", reason: problem };
  const found = await lookupPage(writer, edit.page);
  if (found.kind === "ambiguous") return found;
  if (found.kind === "missing") {
    return edit.revision === undefined
      ? await createFromOkf(writer, edit)
      : { kind: "refused", reason: `There is no page "${edit.page}" any more; it was removed since it was read.` };
  }
  const parsed = parseOkf(edit.okf);
  const title = readFrontmatter(parsed.frontmatter).title;
  if (title !== undefined && title !== found.page.title) await lockRenames(writer);
  const page = await lockPage(writer, found.page.id);
  if (page === undefined) return { kind: "forbidden", page: found.page };
  const text = likePage(page, parsed);
  const taken = await findTakenTitle(writer, page, describePage(text.frontmatter, page.title).title);
  if (taken !== undefined) return { kind: "refused", reason: taken };
  const past = await readPast(writer, page, edit.revision ?? page.revision);
  if (past === undefined) return noSuchRevision(page, edit.revision);
  const { written } = edit;
  const base = written === undefined ? past : { ...asWritten(past, parseOkf(written)), frontmatter: past.frontmatter };
  const objection = edit.findObjection?.(base);
  if (objection !== undefined) return { kind: "refused", reason: objection };
  return await applyParsed(writer, page, text, "page.edited", base);
}

/** Applies a parsed text to a locked page: what it changes of `base`, merged where the page moved on since. */
export async function applyParsed(
  writer: Writer,
  page: LoadedPage,
  parsed: ParsedPage,
  kind: "page.edited" | "page.imported",
  base: PastPage,
): Promise<ApplyOkfResult> {
  const { frontmatter, lineEnd } = parsed;
  if (base !== page && frontmatter === page.frontmatter && lineEnd === page.lineEnd) {
    const { wanted, warnings } = await diffWithin(writer, page.id, page.nodes, parsed.nodes);
    if (isEmpty(planChanges(page.nodes, wanted))) return { kind: "unchanged", page, isAsGiven: true, warnings };
  }
  const known = await withLater(writer, page, base, parsed.nodes);
  const diff = await diffWithin(writer, page.id, known.nodes, parsed.nodes);
  return await commitEdit(writer, page, known, { kind, ...diff, frontmatter, lineEnd });
}

/** The refusal of an edit that names a revision the page never had. */
export function noSuchRevision(page: Page, revision: number | undefined): ApplyOkfResult {
  return {
    kind: "refused",
    reason: `The page "${page.title}" never had the revision ${revision}; it is at ${page.revision}. Read it again.`,
  };
}

interface WantedPage extends PageDiff {
  readonly kind: "page.edited" | "page.imported" | "node.edited";
  readonly frontmatter: string;
  readonly lineEnd?: "\n" | "\r\n";
}

/** Puts what was made of `base` onto the page as it is now, and commits it. */
export async function commitEdit(
  writer: Writer,
  page: LoadedPage,
  base: PastPage,
  { kind, wanted, warnings, frontmatter: wantedHead, lineEnd }: WantedPage,
): Promise<ApplyOkfResult> {
  const isMerged = base !== page;
  const head = mergeHeads(base.frontmatter, page.frontmatter, wantedHead);
  const merge = isMerged
    ? mergeTrees(base.nodes, page.nodes, wanted, head ?? page.frontmatter)
    : { kind: "merged" as const, nodes: wanted };
  if (merge.kind === "conflict") return { ...merge, kind: "stale", page };
  if (head === undefined) return { kind: "stale", page, nodeIds: [], reason: "both changed the frontmatter" };
  const marks =
    findNewMarks(writer, page.frontmatter, head) ??
    findFalseHead(writer, page.nodes, { frontmatter: head, nodes: merge.nodes });
  if (marks !== undefined) return { kind: "refused", reason: marks };

  const change = { kind, frontmatter: head, nodes: merge.nodes, ...(lineEnd === undefined ? {} : { lineEnd }) };
  const committed = await commitChange(writer, page, change);
  if (committed === undefined) return { kind: "unchanged", page, isAsGiven: !isMerged, warnings };
  const { inserted, updated, deleted } = committed.changes;
  return {
    kind: "applied",
    page: committed.page,
    commandId: committed.commandId,
    isCreated: false,
    isMerged,
    added: inserted.length,
    changed: updated.length,
    removed: deleted.length,
    renamedLinks: committed.renamedLinks,
    warnings,
  };
}

/** Makes a page of a title that no page has; one that another made meanwhile is not written to. */
export async function createFromOkf(
  writer: Writer,
  { page: title, okf, dir }: Pick<OkfEdit, "page" | "okf" | "dir">,
): Promise<ApplyOkfResult> {
  const created = await createPage(writer, { title, dir, okf });
  switch (created.kind) {
    case "created":
      return {
        kind: "applied",
        page: created.page,
        commandId: created.commandId,
        isCreated: true,
        isMerged: false,
        added: created.nodeCount,
        changed: 0,
        removed: 0,
        renamedLinks: 0,
        warnings: created.warnings,
      };
    case "exists":
      return { kind: "refused", reason: `The page "${created.page.title}" was made just now; read it first.` };
    case "refused":
      return created;
  }
}

/** An edit, other than a file, may leave out the frontmatter and the last line's end, and has plain line ends. */
function likePage(page: LoadedPage, parsed: ParsedPage): ParsedPage {
  const frontmatter = /^\uFEFF?---/.test(parsed.frontmatter) ? parsed.frontmatter : page.frontmatter;
  const last = parsed.nodes.at(-1);
  const wasEnded = page.nodes.at(-1)?.shape?.trail !== "";
  const nodes =
    last === undefined || last.shape.trail !== "" || !wasEnded
      ? parsed.nodes
      : [...parsed.nodes.slice(0, -1), { ...last, shape: { ...last.shape, trail: "\n" } }];
  return { frontmatter, lineEnd: page.lineEnd, nodes };
}

function mergeHeads(base: string, ours: string, theirs: string): string | undefined {
  if (theirs === base || theirs === ours) return ours;
  return ours === base ? theirs : undefined;
}
