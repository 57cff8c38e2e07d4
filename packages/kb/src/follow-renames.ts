import { findLinks, renameLinks } from "./find-links.ts";
import { lockNamesForLinks } from "./name-locks.ts";
import type { KeyedNode } from "./page-tree.ts";
import type { NodeChanges } from "./plan-changes.ts";
import { visiblePages, type Writer } from "./scope.ts";

/**
 * Makes sure that a rename and the links in these changes meet: to be called before they are written. A rename that comes
 * later finds them. Of a page that was being renamed meanwhile, the links say its new title already, as its rename would
 * have made them; where that may not be, they are as they were written.
 */
export async function followRenames(writer: Writer, pageId: string, changes: NodeChanges): Promise<NodeChanges> {
  const nodes = [...changes.inserted, ...changes.updated.map(({ after }) => after)];
  const names = [...new Set(nodes.flatMap(titlesIn))];
  if (names.length === 0) return changes;
  let before: ReadonlyMap<string, string> = new Map();
  const isAsBefore = await lockNamesForLinks(writer, names, async () => {
    before = await findBearers(writer, pageId, names);
  });
  if (isAsBefore) return changes;
  const after = await findBearers(writer, pageId, names);
  const moved = [...before].filter(([name, id]) => after.get(name) !== id);
  const titles = await readTitles(
    writer,
    pageId,
    moved.map(([, id]) => id),
  );
  const renamed = new Map(
    moved.flatMap(([name, id]) => {
      const title = titles.get(id);
      return title === undefined ? [] : [[name, title] as const];
    }),
  );
  if (renamed.size === 0) return changes;
  const follow = (node: KeyedNode): KeyedNode => ({ ...node, text: renameLinks(node, renamed).text });
  return {
    ...changes,
    inserted: changes.inserted.map(follow),
    updated: changes.updated.map((update) => ({ ...update, after: follow(update.after) })),
  };
}

function titlesIn(node: KeyedNode): string[] {
  return findLinks(node).flatMap(({ kind, target }) => (kind === "title" ? [target] : []));
}

/** The page that a link of each name would go to now. */
async function findBearers(writer: Writer, pageId: string, names: readonly string[]): Promise<Map<string, string>> {
  const rows = await writer.tx<{ name: string; id: string }[]>`
    select n.name, b.id
      from unnest(${[...names]}::text[]) as n (name)
     cross join lateral (
       select p.id from ${visiblePages(writer)} p where p.names @> array[n.name]
        order by p.names[1] = n.name desc, p.dir = (select dir from pages where id = ${pageId}) desc, p.created_at, p.id limit 1) b`;
  return new Map(rows.map(({ name, id }) => [name, id]));
}

/** The titles of these pages, of those alone that all readers of the page see. */
async function readTitles(
  writer: Writer,
  pageId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { tx, workspaceId } = writer;
  const rows = await tx<{ id: string; title: string }[]>`
    select p.id, p.title from ${visiblePages(writer)} p
     where p.id = any(${[...ids]}::uuid[])
       and (cardinality(closing_rules(${workspaceId}, p.id)) = 0
            or closing_rules(${workspaceId}, p.id) = closing_rules(${workspaceId}, ${pageId}))`;
  return new Map(rows.map(({ id, title }) => [id, title]));
}
