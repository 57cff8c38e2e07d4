import type { Sql } from "@countersign/db/connect.ts";
import type { Attention } from "./attention.ts";
import { opening, writeAlive, writeEvent } from "./event-stream.ts";
import { type Changes, readChanges } from "./read-changes.ts";
import { isSnapshot } from "./snapshot.ts";

/** What one event of a workspace says: whose rows to look at again. */
export interface WorkspaceChanges {
  readonly runs: readonly string[];
  readonly tasks: readonly { readonly id: string; readonly runId: string | null }[];
  /** Scopes whose rules or switches changed. */
  readonly policies: readonly { readonly scope: string; readonly id: string }[];
}

export interface WorkspaceStream {
  readonly workspaceId: string;
  /** The id of the last event that the reader has. */
  readonly since: string | undefined;
  /** How often a sign of life comes. */
  readonly everyMs: number;
}

/**
 * What changes in a workspace as events. `changes` names runs, tasks and scopes to be looked at again, and its id is the
 * snapshot that saw all of it, so a reader that comes back with it gets exactly what committed since, in whatever order.
 * `ready` says from when a reader without an id is told; `resync` that more changed than is told one by one, or
 * that the reader may do more or less than before. `alive` comes every so often, for readers that see no comments.
 */
export async function* streamWorkspace(
  sql: Sql,
  { workspaceId, since, everyMs }: WorkspaceStream,
  attention: Attention,
): AsyncGenerator<string, void> {
  try {
    yield opening;
    const snapshot = await attention.listen();
    if (snapshot === undefined) return;
    if (since === undefined) yield writeEvent({ event: "ready", id: snapshot, data: { everyMs } });
    else {
      const missed = isSnapshot(since) ? await readChanges(sql, since, snapshot) : undefined;
      yield writeChanges(missed, workspaceId, snapshot) ?? writeAlive(everyMs, snapshot);
    }
    for (;;) {
      const { changes, ping, hasEnded } = await attention.next();
      if (hasEnded) return;
      const texts = changes.flatMap((found) => writeChanges(found, workspaceId, found.snapshot) ?? []);
      if (ping !== undefined) texts.push(writeAlive(everyMs, ping));
      if (texts.length > 0) yield texts.join("");
    }
  } finally {
    attention.end();
  }
}

/** The event for what changed; undefined where none of it is the workspace's. */
function writeChanges(changes: Changes | undefined, workspaceId: string, id: string): string | undefined {
  if (changes === undefined || changes.isTooMuch) return writeEvent({ event: "resync", id, data: {} });
  const isOurs = (row: { readonly workspaceId: string | null }): boolean => row.workspaceId === workspaceId;
  const data: WorkspaceChanges = {
    runs: changes.runs.filter(isOurs).map((run) => run.id),
    tasks: changes.tasks.filter(isOurs).map((task) => ({ id: task.id, runId: task.runId })),
    policies: changes.policies
      .filter((policy) => policy.workspaceId === null || isOurs(policy))
      .map(({ scope, id: scopeId }) => ({ scope, id: scopeId })),
  };
  if (data.runs.length + data.tasks.length + data.policies.length === 0) return undefined;
  return writeEvent({ event: "changes", id, data });
}
