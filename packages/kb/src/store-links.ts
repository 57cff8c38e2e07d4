import { posix } from "node:path";
import { findLinks } from "./find-links.ts";
import type { KeyedNode } from "./page-tree.ts";
import { type Reader, visiblePages, type Writer } from "./scope.ts";

interface LinkRow {
  readonly nodeId: string;
  readonly kind: "title" | "path";
  readonly target: string;
  /** For a path, the places it may mean, the likeliest first. */
  readonly paths: readonly { readonly dir: string; readonly fileName: string }[];
}

/**
 * Makes the link rows of these nodes what their texts say. A link that was resolved and still says the same keeps its
 * page, whatever that is called now, unless that was removed; another is resolved among the pages that the writer sees: a
 * title before an alias, then one in the same directory first.
 */
export async function storeLinks(
  { tx, workspaceId, userId }: Writer,
  page: { readonly id: string; readonly dir: string },
  nodes: readonly KeyedNode[],
): Promise<void> {
  if (nodes.length === 0) return;
  const rows = nodes.flatMap((node) => linksOf(page.dir, node));
  const old = await tx<{ nodeId: string; kind: string; target: string; targetPageId: string | null }[]>`
    delete from links where node_id = any(${nodes.map(({ id }) => id)}::uuid[])
    returning node_id as "nodeId", kind, target, target_page_id as "targetPageId"`;
  if (rows.length === 0) return;
  const pinned = new Map(old.map((link) => [`${link.nodeId} ${link.kind} ${link.target}`, link.targetPageId]));
  const links = rows.map((row, n) => ({
    ...row,
    n,
    known: pinned.get(`${row.nodeId} ${row.kind} ${row.target}`) ?? null,
  }));
  const reader = { tx, workspaceId, userId };
  await tx`
    insert into links (workspace_id, page_id, node_id, kind, target, file_name, target_page_id)
    select ${workspaceId}, ${page.id}, l."nodeId", l.kind, l.target, l.paths -> 0 ->> 'fileName',
           coalesce((select t.id from pages t where t.id = l.known and t.removed_at is null),
                    case l.kind
                      when 'title' then
                        (select p.id from ${visiblePages(reader)} p where p.names @> array[l.target]
                          order by p.names[1] = l.target desc, p.dir = ${page.dir} desc, p.created_at, p.id limit 1)
                      else
                        (select p.id
                           from json_array_elements(l.paths) with ordinality as wanted (file, rank)
                           join ${visiblePages(reader)} p
                             on p.dir = wanted.file ->> 'dir' and p.file_name = wanted.file ->> 'fileName'
                          order by wanted.rank limit 1)
                    end,
                    l.known)
      from json_to_recordset(${JSON.stringify(links)}::text::json)
           as l (n int, "nodeId" uuid, kind text, target text, paths json, known uuid)
     order by l.n`;
}

/** Whether a link, the row `l`, waits for a page: it never had one, or that was removed. */
export function isWaiting({ tx }: Pick<Reader, "tx">) {
  return tx`(
    l.target_page_id is null
    or exists (select from pages t where t.id = l.target_page_id and t.removed_at is not null))`;
}

/** Resolves what waited for a page of this name or file, wherever it stands. */
export async function resolveWaiting(
  writer: Writer,
  page: {
    readonly id: string;
    readonly dir: string;
    readonly names: readonly string[];
    readonly fileName: string | null;
  },
): Promise<void> {
  const { tx, workspaceId } = writer;
  await tx`
    update links l set target_page_id = ${page.id}
     where l.workspace_id = ${workspaceId} and ${isWaiting(writer)} and l.kind = 'title'
       and l.target = any(${[...page.names]}::text[])`;
  if (page.fileName === null) return;
  const ids = await findWaitingPaths(writer, { ...page, fileName: page.fileName });
  if (ids.length > 0) await tx`update links set target_page_id = ${page.id} where id = any(${ids}::bigint[])`;
}

/** The links that may lead to this file by their path, and wait for a page. */
export async function findWaitingPaths(
  reader: Reader,
  { dir, fileName }: { readonly dir: string; readonly fileName: string },
): Promise<number[]> {
  const { tx, workspaceId } = reader;
  const waiting = await tx<{ id: number; dir: string; target: string }[]>`
    select l.id, p.dir, l.target
      from links l join pages p on p.id = l.page_id
     where l.workspace_id = ${workspaceId} and ${isWaiting(reader)} and l.kind = 'path'
       and l.file_name = ${fileName}`;
  return waiting.filter((link) => pathsOf(link.dir, link.target).some((path) => path.dir === dir)).map(({ id }) => id);
}

function linksOf(dir: string, node: KeyedNode): LinkRow[] {
  return findLinks(node).map(({ kind, target }) => ({
    nodeId: node.id,
    kind,
    target,
    paths: kind === "path" ? pathsOf(dir, target) : [],
  }));
}

/** Where a path in a page of `dir` may lead: from its own directory, or from the root of any bundle it lies in. */
export function pathsOf(dir: string, target: string): { dir: string; fileName: string }[] {
  if (!target.startsWith("/")) return fileAt(posix.join(dir, target));
  const paths: { dir: string; fileName: string }[] = [];
  for (let root = dir; ; root = posix.dirname(root)) {
    const isTop = root === "" || root === ".";
    paths.push(...fileAt(posix.join(isTop ? "" : root, target.slice(1))));
    if (isTop) return paths;
  }
}

function fileAt(path: string): { dir: string; fileName: string }[] {
  const dir = posix.dirname(path);
  return path.startsWith("../") ? [] : [{ dir: dir === "." ? "" : dir, fileName: posix.basename(path) }];
}
