import { posix } from "node:path";
import { findLinks } from "./find-links.ts";
import { foldName } from "./fold.ts";
import type { NodeKind } from "./outline.ts";
import type { Writer } from "./scope.ts";

/** Names that a change gives to a page or takes from it, and names that its texts link to. */
export interface NamesInUse {
  readonly given?: readonly string[];
  readonly linked?: readonly string[];
}

/** So many locks stand for all names of a workspace, whatever a page links to. */
const bucketCount = 64;

/**
 * Afterwards nobody else gives or takes these names until the transaction ends, nor links to those that are given: a link
 * and the page it goes to see each other, whichever comes first. To be called before anything else is locked, and once,
 * with all names: they are locked in one order.
 */
export async function lockNames({ tx, workspaceId }: Writer, { given = [], linked = [] }: NamesInUse): Promise<void> {
  const alone = new Set(given.map(bucketOf));
  const buckets = new Set([...alone, ...linked.map(bucketOf)]);
  if (buckets.size === 0) return;
  const sorted = [...buckets].toSorted((a, b) => a - b);
  await tx`
    select case when bucket = any(${[...alone]}::int[])
                then pg_advisory_xact_lock(hashtext(${`names ${workspaceId}`}), bucket)::text
                else pg_advisory_xact_lock_shared(hashtext(${`names ${workspaceId}`}), bucket)::text end
      from unnest(${sorted}::int[]) as b (bucket)`;
}

/** What texts link to, as `lockNames` takes it. */
export function namesLinked(nodes: Iterable<{ readonly kind: NodeKind; readonly text: string }>): string[] {
  const names = new Set<string>();
  for (const node of nodes) {
    for (const { kind, target } of findLinks(node)) {
      names.add(kind === "title" ? target : fileKeyOf(posix.basename(target)));
    }
  }
  return [...names];
}

/** A file's name among the names; no title has a slash at its start and is looked up so. */
export function fileKeyOf(name: string): string {
  return `/${name}`;
}

function bucketOf(name: string): number {
  let hash = 0;
  for (const character of name.startsWith("/") ? name : foldName(name)) {
    hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  }
  return hash % bucketCount;
}
