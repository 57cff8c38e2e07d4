import { v7 as newId } from "uuid";
import { commitNodes } from "./commit-change.ts";
import { loadAroundEnd } from "./load-around.ts";
import { loadPage, lockHead } from "./load-page.ts";
import { isId, lookupPage, type Lookup, type Page } from "./lookup.ts";
import { splitComments } from "./node-comment.ts";
import type { TreeNode } from "./page-tree.ts";
import { parseOkf } from "./parse-okf.ts";
import { type NodeChanges, planChanges } from "./plan-changes.ts";
import { planPlace } from "./plan-place.ts";
import type { Writer } from "./scope.ts";
import { settleShapes } from "./settle-shapes.ts";
import { findTextProblem } from "./text.ts";
import { writeOutline } from "./write-outline.ts";

export interface NewBullet {
  /** A page's id or title. */
  readonly page: string;
  /** Raw Markdown, with or without the bullet's own marker; further lines belong to the bullet. */
  readonly text: string;
  /** The id of the bullet or heading below which it goes, last of its children; else last on the page. */
  readonly parent?: string | undefined;
}

export type AppendBulletResult =
  | { readonly kind: "appended"; readonly page: Page; readonly nodeId: string }
  | { readonly kind: "forbidden"; readonly page: Page }
  | { readonly kind: "refused"; readonly reason: string }
  | Exclude<Lookup, { kind: "found" }>;

const longestText = 20_000;

/**
 * Adds one bullet: one command, and the page's revision goes up by one. Appends to one page take turns, so each sees the
 * one before and all keep their order. Text that would read back as anything but one bullet is refused. However long the
 * page, only what is around its end, or the parent's, is read.
 */
export async function appendBullet(writer: Writer, bullet: NewBullet): Promise<AppendBulletResult> {
  const text = readBulletText(bullet.text);
  const problem = findBulletProblem(text);
  if (problem !== undefined) return { kind: "refused", reason: `The text cannot be a bullet: ${problem}.` };
  const found = await lookupPage(writer, bullet.page);
  if (found.kind !== "found") return found;

  const page = await lockHead(writer, found.page.id);
  if (page === undefined) return { kind: "forbidden", page: found.page };
  const parentId = bullet.parent ?? null;
  const around = await loadAroundEnd(writer, page.id, parentId !== null && isId(parentId) ? parentId : null);
  const parent = around.nodes.find(({ id }) => id === parentId);
  if (parentId !== null && parent === undefined) {
    return { kind: "refused", reason: `The page "${page.title}" has no node ${parentId}; take an id from reading it.` };
  }
  if (parent !== undefined && parent.kind !== "bullet" && parent.kind !== "heading") {
    return {
      kind: "refused",
      reason: `Node ${parent.id} is a ${parent.kind}; only a bullet or a heading can have bullets below it.`,
    };
  }
  const node = { id: newId(), parentId, kind: "bullet" as const, text, shape: null };
  const changes = (await planPlace(writer, page.id, around, [node])) ?? (await planWhole(writer, page, node));
  if (changes === undefined) return { kind: "refused", reason: "The text cannot stand as a bullet there." };
  const committed = await commitNodes(writer, page, { kind: "bullet.appended", changes });
  return { kind: "appended", page: committed.page, nodeId: node.id };
}

/** What has to happen to the whole page; undefined where the bullet cannot stand there. */
async function planWhole(writer: Writer, { id }: Page, node: TreeNode): Promise<NodeChanges | undefined> {
  const page = await loadPage(writer, id);
  if (page === undefined) throw new Error(`Page ${id} vanished while it was locked`);
  const nodes = settleShapes(insertLast(page.nodes, node), page.frontmatter);
  return nodes && planChanges(page.nodes, nodes);
}

/** The nodes with one more, last among its siblings. */
function insertLast(nodes: readonly TreeNode[], node: TreeNode): TreeNode[] {
  const inside = new Set([node.parentId]);
  let at = node.parentId === null ? nodes.length : nodes.findIndex(({ id }) => id === node.parentId) + 1;
  for (let next = nodes[at]; next !== undefined && inside.has(next.parentId); next = nodes[at]) {
    inside.add(next.id);
    at += 1;
  }
  return nodes.toSpliced(at, 0, node);
}

/** The text of a bullet, also where it was given with its marker. */
function readBulletText(given: string): string {
  const text = given.replaceAll("\r\n", "\n").trim();
  const [node, ...others] = parseOkf(text).nodes;
  const own = node?.kind === "bullet" && others.length === 0 ? node.text.trim() : text;
  return splitComments(own)?.text.trim() ?? own;
}

function findBulletProblem(text: string): string | undefined {
  const problem = findTextProblem(text);
  if (problem !== undefined) return problem;
  if (text === "") return "it is empty";
  if (text.length > longestText) return `it has ${text.length} characters; one bullet has at most ${longestText}`;
  const written = writeOutline("", [{ id: "", parentId: null, kind: "bullet", text, shape: null }]);
  const { nodes } = parseOkf(written);
  const [node] = nodes;
  if (nodes.length === 1 && node?.kind === "bullet" && node.text === text) return undefined;
  return "it holds lines that are bullets or blocks of their own; append each bullet by itself, with parent for one below another";
}
