import { commitEdit, noSuchRevision, type ApplyOkfResult } from "./apply-okf.ts";
import { diffWithin, findOkfProblem } from "./check-okf.ts";
import { findPageOfNode, nodeIn } from "./find-node.ts";
import { lockPage } from "./load-page.ts";
import { parseFragment } from "./node-fragment.ts";
import { readPast } from "./page-history.ts";
import type { TreeNode } from "./page-tree.ts";
import type { Writer } from "./scope.ts";
import { settleShapes } from "./settle-shapes.ts";

export interface NodeEdit {
  readonly nodeId: string;
  /** The node and all below it as they shall be: exactly one root, with or without ids. */
  readonly okf: string;
  /** The page's revision that the writer saw; the current one unless given. */
  readonly revision?: number | undefined;
}

export type EditNodeResult = ApplyOkfResult | { readonly kind: "missing" };

/** Replaces one node's subtree, as `applyOkf` replaces a page; the rest of the page is not looked at. */
export async function editNode(writer: Writer, { nodeId, okf, revision }: NodeEdit): Promise<EditNodeResult> {
  const problem = findOkfProblem(okf);
  if (problem !== undefined) return { kind: "refused", reason: problem };
  const pageId = await findPageOfNode(writer, nodeId);
  if (pageId === undefined) return { kind: "missing" };
  const page = await lockPage(writer, pageId);
  if (page === undefined) {
    const [seen] = await writer.tx<{ title: string }[]>`select title from pages where id = ${pageId}`;
    return { kind: "refused", reason: `You may read the page "${seen?.title ?? pageId}", but not change it.` };
  }
  const base = await readPast(writer, page, revision ?? page.revision);
  if (base === undefined) return noSuchRevision(page, revision);
  const found = nodeIn(page, base.nodes, nodeId);
  if (found === undefined) {
    return { kind: "refused", reason: `The page "${page.title}" had no node ${nodeId} at revision ${revision}.` };
  }
  const parsed = parseFragment(okf, base.nodes, found.node);
  if (parsed.kind === "refused") return parsed;
  const [root, ...rest] = parsed.nodes;
  if (root?.kind !== found.node.kind && root?.kind !== "bullet") {
    return { kind: "refused", reason: `The root of the fragment is a ${root?.kind}; it has to be a bullet.` };
  }
  // The root is the node itself, whatever it says now.
  const isNamed = root.id === undefined || root.id === nodeId || root.kind !== found.node.kind;
  const { wanted, warnings } = await diffWithin(writer, found.subtree, [
    { ...root, id: isNamed ? nodeId : root.id },
    ...rest,
  ]);
  const subtree = wanted.map((node, n) => ({
    ...node,
    id: n === 0 ? nodeId : node.id,
    parentId: n === 0 ? found.node.parentId : node.parentId === wanted[0]?.id ? nodeId : node.parentId,
  }));
  const start = base.nodes.indexOf(found.node);
  const around: readonly TreeNode[] = base.nodes;
  const nodes = settleShapes(around.toSpliced(start, found.subtree.length, ...subtree));
  if (nodes === undefined) return { kind: "refused", reason: "The fragment cannot stand in this place of the page." };
  return await commitEdit(writer, page, base, {
    kind: "node.edited",
    wanted: nodes,
    warnings,
    frontmatter: base.frontmatter,
  });
}
