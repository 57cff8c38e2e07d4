import { commitEdit, noSuchRevision, type ApplyOkfResult } from "./apply-okf.ts";
import { beginsAsHead, diffWithin, findOkfProblem, isPerson } from "./check-okf.ts";
import { commitNodes } from "./commit-change.ts";
import type { PageDiff } from "./diff-page.ts";
import { findPageOfNode, nodeIn } from "./find-node.ts";
import { loadAroundNode } from "./load-around.ts";
import { loadPage, lockHead, type LoadedPage } from "./load-page.ts";
import type { Page } from "./lookup.ts";
import { parseFragment } from "./node-fragment.ts";
import { isTouchedSince, type PastPage, readPast, withLater } from "./page-history.ts";
import type { TreeNode } from "./page-tree.ts";
import { parseOkf } from "./parse-okf.ts";
import { isEmpty } from "./plan-changes.ts";
import { frameNodes, planPlace } from "./plan-place.ts";
import type { Writer } from "./scope.ts";
import { settleShapes } from "./settle-shapes.ts";

export interface NodeEdit {
  readonly nodeId: string;
  /** The node and all below it as they shall be: exactly one root, with or without ids. */
  readonly okf: string;
  /** The page's revision that the writer saw; the current one unless given. */
  readonly revision?: number | undefined;
  /** Says why the writer cannot replace these nodes, the subtree as it was at `revision`; undefined where it can. */
  readonly findObjection?: ((subtree: PastPage["nodes"]) => string | undefined) | undefined;
}

export type EditNodeResult = ApplyOkfResult | { readonly kind: "missing" };

/**
 * Replaces one node's subtree, as `applyOkf` replaces a page; the rest of the page is not looked at. However long the page,
 * only the subtree and what is around it is read, unless others changed the subtree too or the new one changes how what
 * stands around it reads.
 */
export async function editNode(writer: Writer, edit: NodeEdit): Promise<EditNodeResult> {
  const { nodeId, okf } = edit;
  const problem = findOkfProblem(okf);
  if (problem !== undefined) return { kind: "refused", reason: problem };
  const pageId = await findPageOfNode(writer, nodeId);
  if (pageId === undefined) return { kind: "missing" };
  const page = await lockHead(writer, pageId);
  if (page === undefined) {
    const [seen] = await writer.tx<{ title: string }[]>`select title from pages where id = ${pageId}`;
    return { kind: "refused", reason: `You may read the page "${seen?.title ?? pageId}", but not change it.` };
  }
  const edited = await editPlace(writer, page, edit);
  if (edited !== undefined) return edited;
  const loaded = await loadPage(writer, pageId);
  if (loaded === undefined) throw new Error(`Page ${pageId} vanished while it was locked`);
  return await editWhole(writer, loaded, edit);
}

/** The edit, from the node's surroundings alone; undefined, and nothing written, where they do not suffice. */
async function editPlace(
  writer: Writer,
  page: Page,
  { nodeId, okf, revision = page.revision, findObjection }: NodeEdit,
): Promise<EditNodeResult | undefined> {
  if (revision > page.revision || revision < 1) return undefined;
  const around = await loadAroundNode(writer, page.id, nodeId);
  if (around === undefined) return undefined;
  const subtree = around.nodes.slice(around.start, around.start + around.size);
  const isMerged = revision !== page.revision;
  if (isMerged && (await isTouchedSince(writer, page.id, revision, subtree))) return undefined;
  const objection = findObjection?.(subtree);
  if (objection !== undefined) return { kind: "refused", reason: objection };
  const read = await readSubtree(writer, page.id, frameNodes(around), subtree, okf);
  if (read.kind === "refused") return read;
  const { wanted, warnings } = read;
  // How a page begins is judged with its frontmatter.
  if (around.start === 0 && !isPerson(writer) && beginsAsHead(wanted[0]?.text ?? "")) return undefined;
  const changes = await planPlace(writer, page.id, around, wanted);
  if (changes === undefined) return undefined;
  if (isEmpty(changes)) return { kind: "unchanged", page, isAsGiven: !isMerged, warnings };
  const committed = await commitNodes(writer, page, { kind: "node.edited", changes });
  return {
    kind: "applied",
    ...committed,
    isCreated: false,
    isMerged,
    added: changes.inserted.length,
    changed: changes.updated.length,
    removed: changes.deleted.length,
    renamedLinks: 0,
    warnings,
  };
}

async function editWhole(writer: Writer, page: LoadedPage, edit: NodeEdit) {
  const { nodeId, okf, revision } = edit;
  const base = await readPast(writer, page, revision ?? page.revision);
  if (base === undefined) return noSuchRevision(page, revision);
  const found = nodeIn(page, base.nodes, nodeId);
  if (found === undefined) {
    const reason = `The page "${page.title}" had no node ${nodeId} at revision ${revision}.`;
    return { kind: "refused" as const, reason };
  }
  const objection = edit.findObjection?.(found.subtree);
  if (objection !== undefined) return { kind: "refused" as const, reason: objection };
  const known = await withLater(writer, page, base, parseOkf(okf).nodes);
  const { node, subtree } = nodeIn(page, known.nodes, nodeId) ?? found;
  const read = await readSubtree(writer, page.id, known.nodes, subtree, okf);
  if (read.kind === "refused") return read;
  const { wanted, warnings } = read;
  const around: readonly TreeNode[] = known.nodes;
  const { frontmatter } = known;
  const whole = around.toSpliced(known.nodes.indexOf(node), subtree.length, ...wanted);
  const nodes = settleShapes(whole, frontmatter);
  if (nodes === undefined) {
    return { kind: "refused" as const, reason: "The fragment cannot stand in this place of the page." };
  }
  return await commitEdit(writer, page, known, { kind: "node.edited", wanted: nodes, warnings, frontmatter });
}

/** What a fragment makes of a subtree of `nodes`. Its root is the node itself, whatever it says now. */
async function readSubtree(
  writer: Writer,
  pageId: string,
  nodes: readonly TreeNode[],
  subtree: readonly TreeNode[],
  okf: string,
): Promise<({ readonly kind: "read" } & PageDiff) | { readonly kind: "refused"; readonly reason: string }> {
  const [node] = subtree;
  if (node === undefined) throw new Error("A subtree has a root");
  const parsed = parseFragment(okf, nodes, node);
  if (parsed.kind === "refused") return parsed;
  const [root, ...rest] = parsed.nodes;
  if (root?.kind !== node.kind && root?.kind !== "bullet") {
    return { kind: "refused", reason: `The root of the fragment is a ${root?.kind}; it has to be a bullet.` };
  }
  const isNamed = root.id === undefined || root.id === node.id || root.kind !== node.kind;
  const inside = new Set(subtree.map(({ id }) => id));
  const outside = new Set(nodes.flatMap(({ id }) => (inside.has(id) ? [] : [id])));
  const named = [{ ...root, id: isNamed ? node.id : root.id }, ...rest];
  const diff = await diffWithin(writer, pageId, subtree, named, outside);
  const rootId = diff.wanted[0]?.id;
  const wanted = diff.wanted.map((one, n) => ({
    ...one,
    id: n === 0 ? node.id : one.id,
    parentId: n === 0 ? node.parentId : one.parentId === rootId ? node.id : one.parentId,
  }));
  return { kind: "read", wanted, warnings: diff.warnings };
}
