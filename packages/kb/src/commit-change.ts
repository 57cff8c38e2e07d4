import { type ChangedState, type CommandKind, recordCommand } from "./commands.ts";
import { foldName } from "./fold.ts";
import { followRenames } from "./follow-renames.ts";
import { describePage, type LoadedPage } from "./load-page.ts";
import type { Page } from "./lookup.ts";
import type { KeyedNode, TreeNode } from "./page-tree.ts";
import { isEmpty, planChanges, type NodeChanges } from "./plan-changes.ts";
import { renameEverywhere } from "./rename-everywhere.ts";
import type { Writer } from "./scope.ts";
import { resolveWaiting, storeLinks } from "./store-links.ts";
import { wordVectorOf } from "./words.ts";

export interface PageChange {
  readonly kind: CommandKind;
  readonly frontmatter: string;
  /** The page as it shall be, in page order. */
  readonly nodes: readonly TreeNode[];
  readonly lineEnd?: "\n" | "\r\n";
  /** The title where the frontmatter gives none; the page's own unless given. */
  readonly fallbackTitle?: string;
  /** The command that this one takes back. */
  readonly undoes?: string;
}

export interface Committed {
  readonly page: Page;
  readonly commandId: string;
  readonly changes: NodeChanges;
  /** How many links in the pages that the writer sees say the page's new title now. */
  readonly renamedLinks: number;
}

/**
 * Makes a locked page what `change` says: its nodes, its names, its links, one command and one revision, together. Where
 * nothing would change, nothing is written and the answer is undefined. A new title goes into the links to the page.
 */
export async function commitChange(
  writer: Writer,
  page: LoadedPage,
  change: PageChange,
): Promise<Committed | undefined> {
  const changes = planChanges(page.nodes, change.nodes);
  const { frontmatter, lineEnd = page.lineEnd } = change;
  const hasNewHead = frontmatter !== page.frontmatter || lineEnd !== page.lineEnd;
  if (isEmpty(changes) && !hasNewHead) return undefined;

  const fallbackTitle = change.fallbackTitle ?? page.title;
  if (!hasNewHead && fallbackTitle === page.title) {
    const { kind, undoes } = change;
    return { ...(await commitNodes(writer, page, { kind, undoes, changes })), changes, renamedLinks: 0 };
  }
  const names = namesOf(frontmatter, fallbackTitle);
  const [after] = await writer.tx<Page[]>`
    update pages
       set revision = revision + 1, updated_at = clock_timestamp(), frontmatter = ${frontmatter}, line_end = ${lineEnd},
           title = ${names.title}, type = ${names.type}, labels = ${names.labels}, aliases = ${names.aliases},
           names = ${names.names}, name_words = ${names.words}::text::tsvector, problem = ${names.problem}
     where id = ${page.id}
    returning id, dir, title, slug, type, revision`;
  const committed = await recordChange(writer, page, after, {
    ...change,
    changes,
    heads: headsOf(page, { frontmatter, lineEnd, title: names.title }),
  });
  const newNames = names.names.filter((name) => !page.names.includes(name));
  // What waits for a name that it has no more was written beside the page: its new title goes there too, or the link stays.
  const oldNames = page.names.filter((name) => !names.names.includes(name));
  if (oldNames.length > 0) await resolveWaiting(writer, { ...page, names: oldNames, fileName: null });
  if (newNames.length > 0) await resolveWaiting(writer, { ...committed.page, names: newNames, fileName: null });
  const renamedLinks = names.title === page.title ? 0 : await renameEverywhere(writer, page, names.title);
  return { ...committed, changes, renamedLinks };
}

interface NodesChange {
  readonly kind: CommandKind;
  readonly changes: NodeChanges;
  readonly undoes?: string | undefined;
}

/**
 * Changes these nodes of a locked page, which keeps its names: their rows, their links, one command and one revision. No
 * other node is read or written, and of the page's row no column that is indexed.
 */
export async function commitNodes(
  writer: Writer,
  page: Page,
  change: NodesChange,
): Promise<Pick<Committed, "page" | "commandId">> {
  const [after] = await writer.tx<Page[]>`
    update pages set revision = revision + 1, updated_at = clock_timestamp() where id = ${page.id}
    returning id, dir, title, slug, type, revision`;
  return await recordChange(writer, page, after, change);
}

type Head = NonNullable<ChangedState["page"]>;

/** What a change did to the page itself, as it was and as it became. */
function headsOf(before: LoadedPage, after: Required<Pick<Head, "frontmatter" | "title" | "lineEnd">>): [Head, Head] {
  const hasNewText = before.frontmatter !== after.frontmatter || before.title !== after.title;
  const headOf = ({ frontmatter, title, lineEnd }: typeof after): Head => ({
    ...(hasNewText ? { frontmatter, title } : {}),
    ...(before.lineEnd === after.lineEnd ? {} : { lineEnd }),
  });
  return [headOf(before), headOf(after)];
}

/** Writes the nodes and links of a change whose page row is written, and its command. */
async function recordChange(
  writer: Writer,
  page: Page,
  after: Page | undefined,
  { kind, changes, undoes, heads = [] }: NodesChange & { readonly heads?: readonly Head[] },
): Promise<Pick<Committed, "page" | "commandId">> {
  if (after === undefined) throw new Error(`Page ${page.id} vanished while it was locked`);
  const stored = await followRenames(writer, page.id, changes);
  const { inserted, updated, deleted } = stored;
  await storeNodes(writer, page.id, stored);
  await storeLinks(writer, after, [...inserted, ...updated.map((update) => update.after)]);
  const [oldHead, newHead] = heads;
  const commandId = await recordCommand(writer, {
    pageId: page.id,
    revision: after.revision,
    kind,
    before: {
      ...(oldHead === undefined ? {} : { page: oldHead }),
      nodes: [...updated.map(({ before }) => before), ...deleted],
    },
    after: {
      ...(newHead === undefined ? {} : { page: newHead }),
      nodes: [...updated.map((update) => update.after), ...inserted],
    },
    undoes,
  });
  return { page: after, commandId };
}

/** What a page is found by, from its frontmatter. */
export function namesOf(frontmatter: string, fallbackTitle: string) {
  const described = describePage(frontmatter, fallbackTitle);
  const { title, aliases, labels } = described;
  return {
    ...described,
    names: [...new Set([title, ...aliases].map(foldName))],
    words: wordVectorOf([title, ...aliases, ...labels].join("\n")),
  };
}

/** So many nodes go into one statement. What a process does for others meanwhile waits for one portion at most. */
const mostAtOnce = 1_000;

/** Writes the rows of nodes that a plan names, and no other. What it inserts comes with parents before their children. */
export async function storeNodes(
  { tx, workspaceId }: Writer,
  pageId: string,
  { inserted, updated, deleted }: NodeChanges,
): Promise<void> {
  for (const nodes of inPortions(inserted)) {
    await tx`
      with rows as materialized (
        select *
          from json_to_recordset(${JSON.stringify(nodes.map(rowOf))}::text::json)
               as n (id uuid, parent_id uuid, order_key text, kind text, text text, lead text, hang text, trail text, words text)),
      known as (
        insert into node_ids (id, page_id) select id, ${pageId} from rows on conflict (id) do nothing)
      insert into nodes (id, workspace_id, page_id, parent_id, order_key, kind, text, lead, hang, trail, words)
      select id, ${workspaceId}, ${pageId}, parent_id, order_key, kind, text, lead, hang, trail, words::tsvector from rows`;
  }
  for (const nodes of inPortions(updated.map(({ after }) => after))) {
    await tx`
      update nodes
         set parent_id = n.parent_id, order_key = n.order_key, kind = n.kind, text = n.text, lead = n.lead, hang = n.hang,
             trail = n.trail, words = n.words::tsvector
        from json_to_recordset(${JSON.stringify(nodes.map(rowOf))}::text::json)
             as n (id uuid, parent_id uuid, order_key text, kind text, text text, lead text, hang text, trail text, words text)
       where nodes.id = n.id and nodes.page_id = ${pageId} and nodes.id = any(${nodes.map(({ id }) => id)}::uuid[])`;
  }
  if (deleted.length > 0) {
    await tx`delete from nodes where page_id = ${pageId} and id = any(${deleted.map(({ id }) => id)}::uuid[])`;
  }
}

function inPortions<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / mostAtOnce) }, (_, n) =>
    items.slice(n * mostAtOnce, (n + 1) * mostAtOnce),
  );
}

function rowOf({ id, parentId, orderKey, kind, text, shape }: KeyedNode) {
  const { lead = null, hang = null, trail = null } = shape ?? {};
  return { id, parent_id: parentId, order_key: orderKey, kind, text, lead, hang, trail, words: wordVectorOf(text) };
}
