import { generateKeyBetween } from "fractional-indexing";
import { v7 as newId } from "uuid";
import { recordCommand } from "./commands.ts";
import { lookupPage, type Lookup, type Page } from "./lookup.ts";
import { parseOutline } from "./outline.ts";
import { visibleNodes, visiblePages, type Writer } from "./scope.ts";
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
  | { readonly kind: "refused"; readonly reason: string }
  | Exclude<Lookup, { kind: "found" }>;

const longestText = 20_000;

/**
 * Adds one bullet: one command, and the page's revision goes up by one. Appends to one page take turns, so each sees the
 * one before and all keep their order. Text that would read back as anything but one bullet is refused.
 */
export async function appendBullet(writer: Writer, bullet: NewBullet): Promise<AppendBulletResult> {
  const text = readBulletText(bullet.text);
  const problem = findBulletProblem(text);
  if (problem !== undefined) return { kind: "refused", reason: `The text cannot be a bullet: ${problem}.` };
  const found = await lookupPage(writer, bullet.page);
  if (found.kind !== "found") return found;

  const { tx, workspaceId } = writer;
  const pageId = found.page.id;
  await tx`select from ${visiblePages(writer)} p where id = ${pageId} for no key update`;
  const parentId = bullet.parent ?? null;
  if (parentId !== null) {
    const [parent] = await tx<{ kind: string }[]>`
      select kind from ${visibleNodes(writer)} n where page_id = ${pageId} and id::text = ${parentId}`;
    if (parent === undefined) {
      return {
        kind: "refused",
        reason: `The page "${found.page.title}" has no node ${parentId}; take an id from reading it.`,
      };
    }
    if (parent.kind !== "bullet" && parent.kind !== "heading") {
      return {
        kind: "refused",
        reason: `Node ${parentId} is a ${parent.kind}; only a bullet or a heading can have bullets below it.`,
      };
    }
  }

  const [last] = await tx<{ orderKey: string }[]>`
    select order_key as "orderKey" from ${visibleNodes(writer)} n
     where page_id = ${pageId} and parent_id is not distinct from ${parentId}::uuid
     order by order_key desc, id desc limit 1`;
  const orderKey = generateKeyBetween(last?.orderKey ?? null, null);
  const nodeId = newId();
  const [page] = await tx<Page[]>`
    update pages set revision = revision + 1, updated_at = clock_timestamp()
     where workspace_id = ${workspaceId} and id = ${pageId}
    returning id, dir, title, slug, type, revision`;
  if (page === undefined) throw new Error(`Page ${pageId} vanished while it was locked`);
  await tx`
    insert into nodes (id, workspace_id, page_id, parent_id, order_key, kind, text)
    values (${nodeId}, ${workspaceId}, ${pageId}, ${parentId}, ${orderKey}, 'bullet', ${text})`;
  const after = { id: nodeId, parentId, orderKey, kind: "bullet", text };
  await recordCommand(writer, {
    pageId,
    revision: page.revision,
    kind: "bullet.appended",
    before: null,
    after,
  });
  return { kind: "appended", page, nodeId };
}

/** The text of a bullet, also where it was given with its marker. */
function readBulletText(given: string): string {
  const text = given.replaceAll("\r\n", "\n").trim();
  const [node, ...others] = parseOutline(text).nodes;
  return node?.kind === "bullet" && others.length === 0 ? node.text.trim() : text;
}

function findBulletProblem(text: string): string | undefined {
  const problem = findTextProblem(text);
  if (problem !== undefined) return problem;
  if (text === "") return "it is empty";
  if (text.length > longestText) return `it has ${text.length} characters; one bullet has at most ${longestText}`;
  const written = writeOutline("", [{ id: "", parentId: null, kind: "bullet", text, shape: null }]);
  const { nodes } = parseOutline(written);
  const [node] = nodes;
  if (nodes.length === 1 && node?.kind === "bullet" && node.text === text) return undefined;
  return "it holds lines that are bullets or blocks of their own; append each bullet by itself, with parent for one below another";
}
