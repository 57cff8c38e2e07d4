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
