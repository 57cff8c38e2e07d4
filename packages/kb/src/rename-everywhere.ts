import { recordCommand } from "./commands.ts";
import { renameLinks } from "./find-links.ts";
import { foldName } from "./fold.ts";
import { loadPage, type LoadedPage } from "./load-page.ts";
import { lockNameForRename } from "./name-locks.ts";
import type { KeyedNode } from "./page-tree.ts";
import { writablePages, type Writer } from "./scope.ts";
import { resolveWaiting, storeLinks } from "./store-links.ts";
import { wordVectorOf } from "./words.ts";

/** Takes turns with every other rename of the workspace; to be called before any page is locked. */
export async function lockRenames({ tx, workspaceId }: Writer): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`renames ${workspaceId}`}, 0))`;
}

/**
 * Writes a page's new title into the links that go to it under its old one, or under one that it has no more: in the pages
 * that the writer may change and whose readers may all see the renamed page too, so that nobody learns its title from a
 * link. Other links keep their text and their page. Links that are written meanwhile are waited for. Answers how many links
 * were rewritten.
 */
export async function renameEverywhere(writer: Writer, renamed: LoadedPage, title: string): Promise<number> {
  let count = 0;
  for (const { id, links } of await lockSources(writer, renamed, title)) {
    const page = await loadPage(writer, id);
    if (page === undefined) continue;
    const changed: { before: KeyedNode; after: KeyedNode }[] = [];
    const wanted = Map.groupBy(links, ({ nodeId }) => nodeId);
    for (const node of page.nodes) {
      const old = wanted.get(node.id);
      if (old === undefined) continue;
      const { text, count: found } = renameLinks(node, new Map(old.map(({ target }) => [target, title])));
      if (found === 0) continue;
      count += found;
      changed.push({ before: node, after: { ...node, text } });
    }
    await rewriteNodes(writer, page, changed, foldName(title), renamed.id);
  }
  return count;
}

interface Source {
  readonly id: string;
  readonly links: readonly { readonly nodeId: string; readonly target: string }[];
}

/**
 * The pages with links to be rewritten, locked; nobody writes another such link before the transaction ends. Pages are
 * locked before the name, as by everybody who writes links: where one more turns up behind the name's lock, that is given
 * back first.
 */
async function lockSources(writer: Writer, renamed: LoadedPage, title: string): Promise<Source[]> {
  const { tx } = writer;
  const locked = new Set<string>();
  for (;;) {
    for (const { id } of await listSources(writer, renamed, title)) {
      if (locked.has(id)) continue;
      await tx`select from pages where id = ${id} for no key update`;
      locked.add(id);
    }
    await tx`savepoint links_to_rename`;
    await lockNameForRename(writer, foldName(renamed.title));
    await resolveWaiting(writer, { ...renamed, names: [foldName(renamed.title)], fileName: null });
    const sources = await listSources(writer, renamed, title);
    if (sources.every(({ id }) => locked.has(id))) {
      await tx`release savepoint links_to_rename`;
      return sources;
    }
    await tx`rollback to savepoint links_to_rename`;
  }
}

async function listSources(writer: Writer, renamed: LoadedPage, title: string): Promise<Source[]> {
  const { tx, workspaceId } = writer;
  const from = foldName(renamed.title);
  const kept = [...renamed.names.filter((name) => name !== from), foldName(title)];
  return await tx<Source[]>`
    select p.id, json_agg(distinct jsonb_build_object('nodeId', l.node_id, 'target', l.target)) as links
      from links l
      join ${writablePages(writer)} p on p.id = l.page_id
     where l.target_page_id = ${renamed.id} and l.kind = 'title'
       and (l.target = ${from} or l.target <> all(${kept}::text[]))
       and (cardinality(closing_rules(${workspaceId}, ${renamed.id})) = 0
            or closing_rules(${workspaceId}, ${renamed.id}) = closing_rules(${workspaceId}, p.id))
     group by p.id
     order by p.id`;
}

async function rewriteNodes(
  writer: Writer,
  page: LoadedPage,
  changed: readonly { readonly before: KeyedNode; readonly after: KeyedNode }[],
  target: string,
  targetPageId: string,
): Promise<void> {
  if (changed.length === 0) return;
  const { tx } = writer;
  const nodes = changed.map(({ after }) => after);
  const rows = nodes.map(({ id, text }) => ({ id, text, words: wordVectorOf(text) }));
  await tx`
    update nodes set text = n.text, words = n.words::tsvector
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as n (id uuid, text text, words text)
     where nodes.id = n.id`;
  await storeLinks(writer, page, nodes);
  await tx`
    update links set target_page_id = ${targetPageId}
     where node_id = any(${nodes.map(({ id }) => id)}::uuid[]) and kind = 'title' and target = ${target}`;
  const [after] = await tx<{ revision: number }[]>`
    update pages set revision = revision + 1, updated_at = clock_timestamp() where id = ${page.id} returning revision`;
  if (after === undefined) throw new Error(`Page ${page.id} vanished while it was locked`);
  await recordCommand(writer, {
    pageId: page.id,
    revision: after.revision,
    kind: "links.rewritten",
    before: { nodes: changed.map(({ before }) => before) },
    after: { nodes },
  });
}
