import type { ChangedState } from "./commands.ts";
import { diffPage } from "./diff-page.ts";
import type { LoadedPage } from "./load-page.ts";
import { inPageOrder, type KeyedNode } from "./page-tree.ts";
import type { ParsedPage } from "./parse-okf.ts";
import { planChanges } from "./plan-changes.ts";
import type { Reader } from "./scope.ts";

/** A page as it once was. */
export interface PastPage {
  readonly frontmatter: string;
  readonly nodes: readonly KeyedNode[];
}

/** The page as it was at `revision`, by taking back what came later; undefined where it never had that revision. */
export async function readPast(reader: Reader, page: LoadedPage, revision: number): Promise<PastPage | undefined> {
  if (revision === page.revision) return page;
  if (revision > page.revision || revision < 1) return undefined;
  const later = await reader.tx<{ before: string | null; after: string | null }[]>`
    select before, after from commands where page_id = ${page.id} and revision > ${revision} order by revision desc`;
  const nodes = new Map(page.nodes.map((node) => [node.id, node]));
  let { frontmatter } = page;
  for (const command of later) {
    const before = readState(command.before);
    for (const { id } of readState(command.after).nodes ?? []) nodes.delete(id);
    for (const node of before.nodes ?? []) nodes.set(node.id, node);
    frontmatter = before.page?.frontmatter ?? frontmatter;
  }
  return { frontmatter, nodes: inPageOrder([...nodes.values()]) };
}

/**
 * A past page as this text alone would have made it: where it was merged, without what others had put in, and with what they
 * had taken out.
 */
export function asWritten({ nodes }: PastPage, { frontmatter, nodes: parsed }: ParsedPage): PastPage {
  return { frontmatter, nodes: planChanges([], diffPage(nodes, parsed).wanted).inserted };
}

/**
 * A past page with those of the named nodes that the page was given since, each as it was then: whoever names one knows it, and
 * may change it like the others. Only where there is such a node is there another page than `past`.
 */
export async function withLater(
  { tx }: Reader,
  page: LoadedPage,
  past: PastPage,
  named: readonly { readonly id: string | undefined }[],
): Promise<PastPage> {
  const had = new Set(past.nodes.map(({ id }) => id));
  const ids = new Set(named.map(({ id }) => id));
  const later = new Set(page.nodes.flatMap(({ id }) => (ids.has(id) && !had.has(id) ? [id] : [])));
  if (later.size === 0) return past;
  const commands = await tx<{ before: string | null; after: string | null }[]>`
    select before, after from commands
     where page_id = ${page.id} and after like any(${[...later].map((id) => `%${id}%`)}::text[]) order by revision desc`;
  const added: KeyedNode[] = [];
  for (const command of commands) {
    const before = new Set(readState(command.before).nodes?.map(({ id }) => id));
    for (const node of readState(command.after).nodes ?? []) {
      if (!before.has(node.id) && later.delete(node.id)) added.push(node);
    }
  }
  const nodes = inPageOrder([...past.nodes, ...added]);
  const placed = new Set(nodes.map(({ id }) => id));
  return { ...past, nodes: [...nodes, ...added.filter(({ id }) => !placed.has(id))] };
}

/** Whether a command after `revision` changed one of these nodes, or what is below them. */
export async function isTouchedSince(
  { tx }: Reader,
  pageId: string,
  revision: number,
  nodes: readonly { readonly id: string }[],
): Promise<boolean> {
  const later = await tx<{ before: string | null; after: string | null }[]>`
    select before, after from commands where page_id = ${pageId} and revision > ${revision}`;
  const ids = new Set<string | null>(nodes.map(({ id }) => id));
  return later
    .flatMap(({ before, after }) => [before, after])
    .flatMap((state) => readState(state).nodes ?? [])
    .some(({ id, parentId }) => ids.has(id) || ids.has(parentId));
}

/** What a command's column holds. */
export function readState(text: string | null): ChangedState {
  return text === null ? {} : (JSON.parse(text) as ChangedState);
}
