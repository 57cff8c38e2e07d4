import { findFalseHead, findNewMarks } from "./check-okf.ts";
import { commitChange } from "./commit-change.ts";
import { recordCommand, type ChangedState, type CommandKind } from "./commands.ts";
import { mayWriteIn } from "./directories.ts";
import { loadPage, type LoadedPage } from "./load-page.ts";
import { foldName } from "./fold.ts";
import type { Page } from "./lookup.ts";
import { keepFile } from "./page-files.ts";
import { readState } from "./page-history.ts";
import { inPageOrder, areShapesEqual, type KeyedNode, type TreeNode } from "./page-tree.ts";
import { lockRenames } from "./rename-everywhere.ts";
import { markRemoved } from "./remove-node.ts";
import { reachablePages, type Writer } from "./scope.ts";
import { settleShapes } from "./settle-shapes.ts";
import { isTaken } from "./taken-titles.ts";

export type UndoResult =
  | { readonly kind: "undone"; readonly page: Page; readonly commandId: string }
  | { readonly kind: "missing" }
  | { readonly kind: "already"; readonly page: Page }
  /**
   * What the command changed was changed again since, so taking it back would lose that; or it would lead where one may not
   * write, or to what only a person may write.
   */
  | { readonly kind: "conflict"; readonly page: Page; readonly reason: string };

interface CommandRow {
  readonly id: string;
  readonly pageId: string;
  readonly kind: CommandKind;
  readonly before: string | null;
  readonly after: string | null;
  readonly revision: number;
  readonly isUndone: boolean;
}

interface PageRow extends Page {
  readonly isRemoved: boolean;
  readonly fileName: string | null;
}

/**
 * Takes one command back, with a command of its own: what it changed is as it was before, where that is still as the
 * command left it; what else happened to the page stays. Undoing the undoing brings it back. A page that was made is
 * removed, one that was removed comes back.
 */
export async function undoCommand(writer: Writer, commandId: string): Promise<UndoResult> {
  const { tx } = writer;
  const [command] = await tx<CommandRow[]>`
    select c.id, c.page_id as "pageId", c.kind, c.before, c.after, c.revision,
           exists (select from commands u where u.undoes = c.id) as "isUndone"
      from commands c join ${reachablePages(writer, "write")} p on p.id = c.page_id
     where c.id = ${commandId}::uuid`;
  if (command === undefined) return { kind: "missing" };
  await lockRenames(writer);
  const [page] = await tx<PageRow[]>`
    select file_name as "fileName", id, dir, title, slug, type, revision, removed_at is not null as "isRemoved"
      from pages where id = ${command.pageId} for no key update`;
  if (page === undefined) return { kind: "missing" };
  if (command.isUndone) return { kind: "already", page };
  const before = readState(command.before);
  const after = readState(command.after);
  const wasRemoved = before.page?.isRemoved ?? command.before === null;
  const isRemoval = command.before === null || after.page?.isRemoved !== undefined;
  if (isRemoval) return await undoRemoval(writer, command, page, wasRemoved);
  const loaded = page.isRemoved ? undefined : await loadPage(writer, page.id);
  if (loaded === undefined)
    return { kind: "conflict", page, reason: "the page was removed since; bring that back first" };
  if (after.page?.dir !== undefined)
    return await undoMove(writer, command, loaded, before.page?.dir ?? "", after.page.dir);
  return await undoChange(writer, command, loaded, before, after);
}

async function undoRemoval(
  writer: Writer,
  command: CommandRow,
  page: PageRow,
  wasRemoved: boolean,
): Promise<UndoResult> {
  if (page.isRemoved === wasRemoved) return { kind: "already", page };
  if (command.before === null && page.revision !== command.revision) {
    return { kind: "conflict", page, reason: "the page was changed since it was made; remove it instead" };
  }
  // Files may have one title in several places; what was made here has one of its own.
  if (!wasRemoved && page.fileName === null && (await isTaken(writer, page.id, page.title))) {
    return { kind: "conflict", page, reason: `another page is called "${page.title}" by now; rename that one first` };
  }
  const after = await markRemoved(writer, page.id, wasRemoved);
  const commandId = await recordCommand(writer, {
    pageId: page.id,
    revision: after.revision,
    kind: "command.undone",
    before: { page: { isRemoved: !wasRemoved } },
    after: { page: { isRemoved: wasRemoved } },
    undoes: command.id,
  });
  return { kind: "undone", page: after, commandId };
}

async function undoMove(
  writer: Writer,
  command: CommandRow,
  page: LoadedPage,
  from: string,
  to: string,
): Promise<UndoResult> {
  if (page.dir !== to) return { kind: "conflict", page, reason: "the page was moved again since" };
  if (!(await mayWriteIn(writer, from))) {
    return { kind: "conflict", page, reason: "it would go back to a directory in which you may not write" };
  }
  const [after] = await writer.tx<Page[]>`
    update pages p set dir = ${from}, revision = revision + 1, updated_at = clock_timestamp()
     where id = ${page.id}
    returning id, dir, title, slug, type, revision`;
  if (after === undefined) throw new Error(`Page ${page.id} vanished while it was locked`);
  await keepFile(writer, page.id);
  const commandId = await recordCommand(writer, {
    pageId: page.id,
    revision: after.revision,
    kind: "command.undone",
    before: { page: { dir: to } },
    after: { page: { dir: from } },
    undoes: command.id,
  });
  return { kind: "undone", page: after, commandId };
}

async function undoChange(
  writer: Writer,
  command: CommandRow,
  page: LoadedPage,
  before: ChangedState,
  after: ChangedState,
): Promise<UndoResult> {
  const nodes = new Map(page.nodes.map((node) => [node.id, node]));
  const old = new Map((before.nodes ?? []).map((node) => [node.id, node]));
  const made = new Map((after.nodes ?? []).map((node) => [node.id, node]));
  for (const [id, node] of made) {
    const now = nodes.get(id);
    if (now === undefined || !isAsLeft(now, node, old.get(id)))
      return changedSince(page, "a node it touched was changed since");
    if (!old.has(id)) nodes.delete(id);
  }
  for (const [id, node] of old) {
    if (!made.has(id) && nodes.has(id)) return changedSince(page, "a node it removed is there again");
    nodes.set(id, restore(node, made.get(id), nodes.get(id)));
  }
  const orphan = [...nodes.values()].find(({ parentId }) => parentId !== null && !nodes.has(parentId));
  if (orphan !== undefined) return changedSince(page, "something was put below a node, or taken from above it, since");
  const ordered = inPageOrder([...nodes.values()]);
  const frontmatter = before.page?.frontmatter ?? page.frontmatter;
  const settled = ordered.length === nodes.size ? settleShapes(ordered, frontmatter) : undefined;
  if (settled === undefined) return changedSince(page, "the page has another structure now");
  if (after.page?.frontmatter !== undefined && after.page.frontmatter !== page.frontmatter) {
    return changedSince(page, "the frontmatter was changed since");
  }
  const title = before.page?.title ?? page.title;
  if (foldName(title) !== foldName(page.title) && (await isTaken(writer, page.id, title))) {
    return changedSince(page, `another page is called "${title}" by now; rename that one first`);
  }
  if (await areElsewhere(writer, page, settled))
    return changedSince(page, "a node it removed stands on another page now");
  const marks =
    findNewMarks(writer, page.frontmatter, frontmatter) ??
    findFalseHead(writer, page.nodes, { frontmatter, nodes: settled });
  if (marks !== undefined) return { kind: "conflict", page, reason: marks.replace(/\.$/, "") };
  const committed = await commitChange(writer, page, {
    kind: "command.undone",
    frontmatter,
    nodes: settled,
    lineEnd: before.page?.lineEnd ?? page.lineEnd,
    fallbackTitle: before.page?.title ?? page.title,
    undoes: command.id,
  });
  if (committed !== undefined) return { kind: "undone", page: committed.page, commandId: committed.commandId };
  const isAsItWas = [...old].every(([id, { shape }]) => areShapesEqual(shape, nodes.get(id)?.shape ?? shape));
  return isAsItWas ? { kind: "already", page } : changedSince(page, "the form of what it touched was changed since");
}

/** Whether a node that would come back is another page's by now. */
async function areElsewhere({ tx }: Writer, page: LoadedPage, nodes: readonly TreeNode[]): Promise<boolean> {
  const there = new Set(page.nodes.map(({ id }) => id));
  const ids = nodes.flatMap(({ id }) => (there.has(id) ? [] : [id]));
  if (ids.length === 0) return false;
  const [other] = await tx`
    select from nodes where id = any(${ids}::uuid[]) and page_id <> ${page.id} limit 1`;
  return other !== undefined;
}

/** What a command changed of a node that was there before and after it. */
function changesOf(before: KeyedNode, left: KeyedNode) {
  return {
    didText: before.text !== left.text || before.kind !== left.kind,
    didPlace: before.parentId !== left.parentId || before.orderKey !== left.orderKey,
    didShape: !areShapesEqual(before.shape, left.shape),
  };
}

/** Whether the text and the place, as far as the command changed them, are as it left them; the rest may be another. */
function isAsLeft(now: KeyedNode, left: KeyedNode, before: KeyedNode | undefined): boolean {
  const isText = now.text === left.text && now.kind === left.kind;
  if (before === undefined) return isText && now.parentId === left.parentId;
  const { didText, didPlace } = changesOf(before, left);
  const isPlace = now.parentId === left.parentId && now.orderKey === left.orderKey;
  return (isText || !didText) && (isPlace || !didPlace);
}

/** The node as it was, in what the command changed of it; a form that somebody gave it since stays. */
function restore(before: KeyedNode, left: KeyedNode | undefined, now: KeyedNode | undefined): KeyedNode {
  if (left === undefined || now === undefined) return before;
  const { didText, didPlace, didShape } = changesOf(before, left);
  const isShape = before.kind !== left.kind || (didShape && areShapesEqual(now.shape, left.shape));
  return {
    id: now.id,
    kind: didText ? before.kind : now.kind,
    text: didText ? before.text : now.text,
    shape: isShape ? before.shape : now.shape,
    parentId: didPlace ? before.parentId : now.parentId,
    orderKey: didPlace ? before.orderKey : now.orderKey,
  };
}

function changedSince(page: Page, reason: string): UndoResult {
  return { kind: "conflict", page, reason };
}
