import type { Shape } from "./outline.ts";
import type { TreeNode } from "./page-tree.ts";
import { parseOkf, type ParsedNode } from "./parse-okf.ts";
import { shapesOf, writeNode } from "./write-outline.ts";

/** A subtree as a page of its own: its first node at the margin. */
export function writeFragment(nodes: readonly TreeNode[], subtree: readonly TreeNode[], withIds: boolean): string {
  const shapes = shapesOf(nodes);
  const places = new Map(nodes.map(({ id }, n) => [id, n]));
  const shapeOf = (node: TreeNode): Shape => shapes[places.get(node.id) ?? 0] ?? { lead: "", hang: "", trail: "\n" };
  const [root] = subtree;
  const indent = root === undefined ? "" : indentOf(shapeOf(root).lead);
  return subtree
    .map((node) => {
      const { lead, hang, trail } = shapeOf(node);
      const moved = { lead: outdent(lead, indent), hang: outdent(hang, indent), trail };
      return writeNode({ ...node, shape: moved }, moved, { withIds });
    })
    .join("");
}

export type ParsedFragment =
  | { readonly kind: "parsed"; readonly nodes: readonly ParsedNode[] }
  | { readonly kind: "refused"; readonly reason: string };

/** Reads a fragment, which has exactly one node at its root and no frontmatter, to stand where `root` stands. */
export function parseFragment(okf: string, nodes: readonly TreeNode[], root: TreeNode): ParsedFragment {
  const { frontmatter, nodes: parsed } = parseOkf(`${okf.replaceAll("\r\n", "\n").replace(/\n$/, "")}\n`);
  const roots = parsed.filter(({ parent }) => parent === null).length;
  if (frontmatter.trim() !== "") return { kind: "refused", reason: "A fragment has no frontmatter." };
  if (roots !== 1) {
    return { kind: "refused", reason: `A fragment has exactly one bullet at its root; this one has ${roots}.` };
  }
  const at = nodes.findIndex(({ id }) => id === root.id);
  const shapes = shapesOf(nodes);
  const indent = indentOf(shapes[at]?.lead ?? "");
  const own = indentOf(parsed[0]?.shape.lead ?? "");
  const moved = parsed.map((node) => ({
    ...node,
    shape: {
      ...node.shape,
      lead: indent + outdent(node.shape.lead, own),
      hang: indent + outdent(node.shape.hang, own),
    },
  }));
  return { kind: "parsed", nodes: moved };
}

function outdent(text: string, indent: string): string {
  return text.startsWith(indent) ? text.slice(indent.length) : text;
}

function indentOf(lead: string): string {
  return /^[ \t]*/.exec(lead)?.[0] ?? "";
}
