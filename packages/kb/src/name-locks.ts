import { createHash } from "node:crypto";
import type { Writer } from "./scope.ts";

/** So many locks are there for the names of a workspace: no transaction takes more of them, whatever it links to. */
const buckets = 64;

/**
 * Keeps renames away from these names until the transaction ends: what is written now links to them, and a rename that comes
 * later sees it. Writers of links do not wait for each other. Answers true where no rename was waited for; where one was,
 * `beforeWaiting` was called first.
 */
export async function lockNamesForLinks(
  { tx, workspaceId }: Writer,
  names: readonly string[],
  beforeWaiting: () => Promise<void>,
): Promise<boolean> {
  const keys = keysOf(workspaceId, names);
  const [taken] = await tx<{ areAll: boolean }[]>`
    select bool_and(pg_try_advisory_xact_lock_shared(hashtextextended(k, 0))) as "areAll" from unnest(${keys}::text[]) k`;
  if (taken?.areAll !== false) return true;
  await beforeWaiting();
  await tx`select pg_advisory_xact_lock_shared(hashtextextended(k, 0)) from unnest(${keys}::text[]) k`;
  return false;
}

/** Waits for all who write links to this name just now, and keeps others away until the transaction ends. */
export async function lockNameForRename({ tx, workspaceId }: Writer, name: string): Promise<void> {
  const [key = ""] = keysOf(workspaceId, [name]);
  await tx`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`;
}

/** In one order, so that nobody waits in a circle. */
function keysOf(workspaceId: string, names: readonly string[]): string[] {
  const numbers = names.map((name) => createHash("sha1").update(name).digest().readUInt32BE(0) % buckets);
  return [...new Set(numbers)].toSorted((a, b) => a - b).map((n) => `links ${workspaceId} ${n}`);
}
