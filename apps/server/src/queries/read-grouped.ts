import type { Queryable } from "@countersign/db/connect.ts";
import { createGroupCommit } from "@countersign/db/group-commit.ts";

/**
 * Reads one row by its key, together with what others read by theirs at the time: while a read is under way, those that
 * come wait for the next, which is one statement for all of them. What is read is as new as if it had been read alone,
 * since its statement begins after it was asked for; in a transaction only that one's reads are joined.
 */
export function readGrouped<K, V>(
  read: (sql: Queryable, keys: readonly K[]) => Promise<readonly V[]>,
): (sql: Queryable, key: K) => Promise<V> {
  const groups = new WeakMap<Queryable, (key: K) => Promise<V>>();
  return async (sql, key) => {
    let group = groups.get(sql);
    if (group === undefined) {
      const commit = async (keys: readonly K[]): Promise<readonly V[]> => await read(sql, keys);
      group = createGroupCommit<K, V>({ commit, straggle: commit, keysOf: () => [] });
      groups.set(sql, group);
    }
    return await group(key);
  };
}

/** What belongs to a workspace, and is read by its id. */
export interface Owned {
  readonly workspaceId: string;
  readonly id: string;
}

/** Reads things of several workspaces, a statement for each workspace; undefined where it has none of the id. */
export async function readOwned<V extends { readonly id: string }>(
  asked: readonly Owned[],
  read: (workspaceId: string, ids: readonly string[]) => Promise<readonly V[]>,
): Promise<readonly (V | undefined)[]> {
  const found = new Map<string, V>();
  const byWorkspace = Map.groupBy(asked, ({ workspaceId }) => workspaceId);
  await Promise.all(
    [...byWorkspace].map(async ([workspaceId, own]) => {
      for (const one of await read(workspaceId, [...new Set(own.map(({ id }) => id))]))
        found.set(`${workspaceId} ${one.id}`, one);
    }),
  );
  return asked.map(({ workspaceId, id }) => found.get(`${workspaceId} ${id}`));
}
