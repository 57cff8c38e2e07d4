import type { Surroundings } from "./load-around.ts";
import type { TreeNode } from "./page-tree.ts";
import { type NodeChanges, planChanges } from "./plan-changes.ts";
import type { Writer } from "./scope.ts";
import { settleShapes } from "./settle-shapes.ts";
import { newShape, shapesOf } from "./write-outline.ts";

/** The nodes around a place and in it, where those around it that leave their form to the writer have the one they get. */
export function frameNodes({ nodes, start, size, indents }: Surroundings): TreeNode[] {
  return nodes.map((node, n) => {
    const indent = n >= start && n < start + size ? undefined : indents.get(node.id);
    return node.shape !== null || indent === undefined ? node : { ...node, shape: newShape(node.kind, indent) };
  });
}

/**
 * What has to happen so that `wanted` stands in a place in which something else stood, or nothing; undefined where the
 * surroundings do not suffice to say that: then the whole page has to be looked at. They suffice because a page is read
 * from above to below, and what reads a line knows no more of what is above it than the ancestors and the node before.
 */
export async function planPlace(
  writer: Writer,
  pageId: string,
  around: Surroundings,
  wanted: readonly TreeNode[],
): Promise<NodeChanges | undefined> {
  const { nodes, start, size } = around;
  const framed = frameNodes(around);
  const whole = framed.toSpliced(start, size, ...wanted);
  // Without its frontmatter, which is not read here: what stands without one stands below one too.
  const settled = settleShapes(whole, "");
  if (settled === undefined) return undefined;
  const hasMovedOthers = framed.some(
    (node, n) =>
      (n < start && settled[n] !== node) || (n >= start + size && settled[n + wanted.length - size] !== node),
  );
  if (hasMovedOthers || !isAsDeep(framed, settled, around)) return undefined;
  // Tabs anywhere on a page make it indented by tabs, also where the writer decides.
  const old = framed.slice(start, start + size);
  const given = settled.slice(start, start + wanted.length);
  if (old.some(isTabbed) !== given.some(isTabbed)) return undefined;
  const isSteppingAnywhere = [framed, whole, settled].some(isStepping);
  if (isSteppingAnywhere && !framed.some(isTabbed) && (await isTabbedPage(writer, pageId))) return undefined;
  return planChanges(nodes, [...nodes.slice(0, start), ...given, ...nodes.slice(start + size)]);
}

/** Siblings behind the place that leave their form to the writer stand as deep as what is in it. */
function isAsDeep(framed: readonly TreeNode[], settled: readonly TreeNode[], { start, size }: Surroundings): boolean {
  if (size === 0) return true;
  const [before, after] = [framed, settled].map((nodes) => /^[ \t]*/.exec(shapesOf(nodes)[start]?.lead ?? "")?.[0]);
  return before === after;
}

function isTabbed({ shape }: TreeNode): boolean {
  return shape?.lead.startsWith("\t") === true;
}

/** Whether a node stands one step inside its parent because the writer says so. */
function isStepping(nodes: readonly TreeNode[]): boolean {
  const parents = new Set<string | null>([null]);
  return nodes.some(({ parentId, shape }) => {
    const isFirst = !parents.has(parentId);
    parents.add(parentId);
    return isFirst && shape === null;
  });
}

async function isTabbedPage({ tx }: Writer, pageId: string): Promise<boolean> {
  const [row] = await tx<{ isTabbed: boolean }[]>`
    select exists (select from nodes where page_id = ${pageId} and starts_with(lead, ${"\t"})) as "isTabbed"`;
  return row?.isTabbed === true;
}
