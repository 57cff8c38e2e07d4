import type { Sql } from "@countersign/db/connect.ts";
import { createGroupCommit } from "@countersign/db/group-commit.ts";
import { onOwnConnection } from "@countersign/db/transaction.ts";
import type { CommitKind } from "./commit.ts";

/** Hands a transition in; resolves with its outcome once it is durable. */
export type Committer = <T, R>(kind: CommitKind<T, R>, transition: T) => Promise<R>;

export interface CommitterOptions {
  readonly sql: Sql;
  /** A client of its own for members that must wait for a lock, one connection each, so that nobody waits with them. */
  readonly stragglers: Sql;
  /** Called after a commit that made a run ready. */
  readonly ring: () => void;
}

/** One group commit for each kind of transition; see group-commit.ts for what a batch is. */
export function createCommitter({ sql, stragglers, ring }: CommitterOptions): Committer {
  const groups = new Map<unknown, (transition: unknown) => Promise<unknown>>();
  let inFlight = 0;

  function groupOf<T, R>(kind: CommitKind<T, R>): (transition: T) => Promise<R> {
    const known = groups.get(kind);
    if (known !== undefined) return known as (transition: T) => Promise<R>;
    const group = createGroupCommit<T, R>({
      commit: async (transitions, how) => {
        inFlight += 1;
        try {
          return await kind.send(sql, transitions, how);
        } finally {
          inFlight -= 1;
        }
      },
      straggle: (transitions, how) => onOwnConnection(stragglers, (own) => kind.send(own, transitions, how)),
      keysOf: kind.runsOf,
      isIdle: () => inFlight === 0,
      ...(kind.max === undefined ? {} : { max: kind.max }),
    });
    groups.set(kind, group as (transition: unknown) => Promise<unknown>);
    return group;
  }

  return async (kind, transition) => {
    const outcome = await groupOf(kind)(transition);
    if (kind.wakes(outcome)) ring();
    return outcome;
  };
}
