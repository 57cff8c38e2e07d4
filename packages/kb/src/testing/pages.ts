import fc from "fast-check";
import { v7 as newId } from "uuid";
import { inPageOrder, type KeyedNode, type TreeNode } from "../page-tree.ts";
import { parseOkf } from "../parse-okf.ts";
import type { NodeChanges } from "../plan-changes.ts";
import { planChanges } from "../plan-changes.ts";
import { writeOutline } from "../write-outline.ts";

const marks = [
  "- ",
  "* ",
  "+ ",
  "-",
  "\t",
  "  ",
  " ",
  "\n",
  "\n- ",
  "\n  - ",
  "\n\n",
  "```",
  "`",
  "~~~",
  "# ",
  "a",
  "b c",
  "---",
];
const texts = ["é", "<!--x-->", "<!-- ", "-->", ":: ", "1. ", "<a ", '"', "\\", "[x](", "[[y]]", "|", "| a |\n|---|\n"];

/** Texts made of what Markdown and outliners give a meaning to, in any order. */
export const oddText = fc.array(fc.constantFrom(...marks, ...texts), { maxLength: 40 }).map((parts) => parts.join(""));

const words = ["alpha", "beta", "gamma delta", "see [[Plan]]", "**bold** text", "50%", "用户身份", "x", ""];

/** A page as people write them: bullets at some depth, headings and paragraphs between, texts that repeat. */
export const usualText = fc
  .array(
    fc.record({
      depth: fc.nat(3),
      text: fc.oneof(
        fc.constantFrom(...words),
        fc.tuple(fc.constantFrom(...words), fc.nat(99)).map(([word, n]) => `${word} ${n}`),
      ),
      kind: fc.constantFrom("bullet", "bullet", "bullet", "bullet", "heading", "paragraph"),
    }),
    { maxLength: 30 },
  )
  .map((lines) =>
    lines
      .map(({ depth, text, kind }) => {
        if (kind === "heading") return `\n## ${text}\n\n`;
        if (kind === "paragraph") return text === "" ? "\n" : `\n${text}\n\n`;
        return `${"\t".repeat(depth)}- ${text}\n`;
      })
      .join(""),
  );

export interface TestPage {
  readonly frontmatter: string;
  readonly nodes: readonly KeyedNode[];
}

/** A page in memory, as an import would store it. */
export function pageOf(source: string): TestPage {
  const { frontmatter, nodes } = parseOkf(source);
  const ids = nodes.map(() => newId());
  const tree: TreeNode[] = nodes.map(({ parent, kind, text, shape }, n) => ({
    id: ids[n] ?? "",
    parentId: parent === null ? null : (ids[parent] ?? ""),
    kind,
    text,
    shape,
  }));
  return { frontmatter, nodes: inPageOrder(planChanges([], tree).inserted) };
}

/** The nodes after the changes, as a database would have them. */
export function applied(nodes: readonly KeyedNode[], { inserted, updated, deleted }: NodeChanges): KeyedNode[] {
  const rows = new Map(nodes.map((node) => [node.id, node]));
  for (const node of inserted) rows.set(node.id, node);
  for (const { after } of updated) rows.set(after.id, after);
  for (const { id } of deleted) rows.delete(id);
  return inPageOrder([...rows.values()]);
}

/** The page's text. */
export function textOf({ frontmatter, nodes }: TestPage, withIds = false): string {
  return writeOutline(frontmatter, nodes, { withIds });
}

export function idsOf(nodes: readonly TreeNode[]): string[] {
  return nodes.map(({ id }) => id);
}
