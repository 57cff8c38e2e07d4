import { generateNKeysBetween } from "fractional-indexing";
import { v7 as newId } from "uuid";
import { recordCommand } from "./commands.ts";
import { insertPage } from "./create-page.ts";
import type { Page } from "./lookup.ts";
import { parseOutline, type OutlineNode } from "./outline.ts";
import { visiblePages, type Writer } from "./scope.ts";
import { findTextProblem, findTitleProblem } from "./text.ts";

export interface SourceFile {
  /** The directory it lies in, relative to what is imported, joined by slashes; empty for the top. */
  readonly dir: string;
  readonly fileName: string;
  readonly source: string;
}

export type ImportPageResult =
  | { readonly kind: "imported"; readonly page: Page; readonly nodeCount: number }
  | { readonly kind: "skipped"; readonly reason: string };

/**
 * Makes one Markdown file a page with its nodes, at revision 1, with one command. Every line survives: `readPage` gives
 * the file back. The title is the frontmatter's, else the file's name. A file already imported from the same place is
 * skipped, and so is one that cannot be stored exactly; nothing is written for it.
 */
export async function importPage(writer: Writer, file: SourceFile): Promise<ImportPageResult> {
  const { tx, workspaceId } = writer;
  const path = file.dir === "" ? file.fileName : `${file.dir}/${file.fileName}`;
  const problem = findTextProblem(file.source) ?? findTextProblem(path);
  if (problem !== undefined) return { kind: "skipped", reason: `it cannot be stored: ${problem}` };
  if (path.length > 600)
    return {
      kind: "skipped",
      reason: `its path has ${path.length} characters; at most 600 are kept`,
    };
  if (path.split("/").some((part) => /^\.{0,2}$/.test(part))) {
    return { kind: "skipped", reason: "its path has an empty part, . or .." };
  }
  await tx`select pg_advisory_xact_lock(hashtextextended(${`file ${workspaceId} ${path}`}, 0))`;
  const [known] = await tx<{ id: string }[]>`
    select id from ${visiblePages(writer)} p where dir = ${file.dir} and file_name = ${file.fileName}`;
  if (known !== undefined) return { kind: "skipped", reason: `it was imported before, as page ${known.id}` };

  const { frontmatter, lineEnd, nodes } = parseOutline(file.source);
  const page = await insertPage(writer, {
    dir: file.dir,
    title: titleOf(file.fileName, frontmatter),
    type: readField(frontmatter, "type") ?? "Page",
    frontmatter,
    lineEnd,
    fileName: file.fileName,
  });
  await insertNodes(writer, page.id, nodes);
  const after = {
    dir: page.dir,
    fileName: file.fileName,
    title: page.title,
    slug: page.slug,
    source: file.source,
  };
  await recordCommand(writer, {
    pageId: page.id,
    revision: page.revision,
    kind: "page.imported",
    before: null,
    after,
  });
  return { kind: "imported", page, nodeCount: nodes.length };
}

async function insertNodes({ tx, workspaceId }: Writer, pageId: string, nodes: readonly OutlineNode[]): Promise<void> {
  const ids = nodes.map(() => newId());
  const keys = orderKeysOf(nodes);
  const rows = nodes.map((node, n) => ({
    id: ids[n],
    parent_id: node.parent === null ? null : ids[node.parent],
    order_key: keys[n],
    kind: node.kind,
    text: node.text,
    ...node.shape,
  }));
  await tx`
    insert into nodes (id, workspace_id, page_id, parent_id, order_key, kind, text, lead, hang, trail)
    select id, ${workspaceId}, ${pageId}, parent_id, order_key, kind, text, lead, hang, trail
      from json_to_recordset(${JSON.stringify(rows)}::text::json)
           as n (id uuid, parent_id uuid, order_key text, kind text, text text, lead text, hang text, trail text)`;
}

/** One key for each node, ascending among the children of one parent. */
function orderKeysOf(nodes: readonly OutlineNode[]): string[] {
  const keys: string[] = [];
  const siblings = Map.groupBy(nodes.keys(), (n) => nodes[n]?.parent ?? null);
  for (const group of siblings.values()) {
    const fresh = generateNKeysBetween(null, null, group.length);
    group.forEach((n, i) => (keys[n] = fresh[i] ?? ""));
  }
  return keys;
}

function titleOf(fileName: string, frontmatter: string): string {
  const stem = fileName.replace(/\.md$/i, "");
  const candidates = [readField(frontmatter, "title"), decodeName(stem), stem, Array.from(stem).slice(0, 100).join("")];
  return candidates.find((title) => title !== undefined && findTitleProblem(title) === undefined) ?? "Untitled";
}

/** Outliners write `a/b` as `a___b.md` or `a%2Fb.md`. */
function decodeName(stem: string): string {
  const name = stem.replaceAll("___", "/");
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // A percent sign that begins no escape is itself.
  }
}

/** A plain value at the top level of the frontmatter; undefined where it is absent or not of one line. */
function readField(frontmatter: string, name: string): string | undefined {
  const line = new RegExp(`^${name}:[ \\t]+(\\S.*)$`, "m").exec(frontmatter)?.[1]?.trim();
  if (line === undefined || /^[|>&*!{[#]/.test(line)) return undefined;
  const quoted = /^"((?:[^"\\]|\\.)*)"|^'((?:[^']|'')*)'/.exec(line);
  if (quoted?.[1] !== undefined) return parseQuoted(quoted[1]);
  if (quoted?.[2] !== undefined) return quoted[2].replaceAll("''", "'").trim() || undefined;
  return line.replace(/[ \t]#.*$/, "").trim() || undefined;
}

function parseQuoted(inner: string): string {
  try {
    return String(JSON.parse(`"${inner}"`)).trim();
  } catch {
    return inner; // An escape that YAML has and JSON has not stays as it is written.
  }
}
