import type { ChangedState, CommandKind } from "./commands.ts";
import { readState } from "./page-history.ts";
import { reachablePages, type Reader } from "./scope.ts";

/** One change of a page. */
export interface PastCommand {
  readonly id: string;
  readonly pageId: string;
  readonly pageTitle: string;
  readonly revision: number;
  readonly kind: CommandKind;
  readonly userId: string;
  readonly runId: string | null;
  readonly callId: string | null;
  readonly at: Date;
  readonly undoes: string | null;
  readonly undoneBy: string | null;
}

export interface HistoryQuery {
  /** Of one page; of all that the reader sees unless given. */
  readonly pageId?: string | undefined;
  /** Of one run. */
  readonly runId?: string | undefined;
  /** Older than this command. */
  readonly beforeId?: string | undefined;
  readonly limit: number;
}

/** Changes of the pages that the reader sees, removed ones included, the latest first. */
export async function listHistory(reader: Reader, query: HistoryQuery): Promise<PastCommand[]> {
  const { pageId = null, runId = null, beforeId = null, limit } = query;
  return await reader.tx<PastCommand[]>`
    select ${commandColumns(reader)}
      from commands c join ${reachablePages(reader, "read")} p on p.id = c.page_id
     where c.workspace_id = ${reader.workspaceId}
       and (${pageId}::uuid is null or c.page_id = ${pageId}::uuid)
       and (${runId}::uuid is null or c.run_id = ${runId}::uuid)
       and (${beforeId}::uuid is null or c.id < ${beforeId}::uuid)
     order by c.id desc limit ${limit}`;
}

/**
 * One change with what it changed; undefined where the reader sees no such page. A directory that the page was in, and that
 * is closed to the reader, is left out.
 */
export async function readCommand(
  reader: Reader,
  id: string,
): Promise<(PastCommand & { readonly before: ChangedState; readonly after: ChangedState }) | undefined> {
  const [row] = await reader.tx<(PastCommand & { before: string | null; after: string | null })[]>`
    select ${commandColumns(reader)}, c.before, c.after
      from commands c join ${reachablePages(reader, "read")} p on p.id = c.page_id
     where c.workspace_id = ${reader.workspaceId} and c.id = ${id}::uuid`;
  if (row === undefined) return undefined;
  const [before, after] = [readState(row.before), readState(row.after)];
  const closed = await findClosed(reader, [before.page?.dir, after.page?.dir]);
  return { ...row, before: withoutDirs(before, closed), after: withoutDirs(after, closed) };
}

async function findClosed({ tx, workspaceId, userId }: Reader, dirs: readonly (string | undefined)[]) {
  const asked = dirs.filter((dir) => dir !== undefined);
  if (asked.length === 0) return new Set<string>();
  const rows = await tx<{ dir: string }[]>`
    select dir from closed_directories(${workspaceId}::uuid, ${userId}::uuid, 'read') as dir
     where dir = any(${asked}::text[])`;
  return new Set(rows.map(({ dir }) => dir));
}

function withoutDirs(state: ChangedState, closed: ReadonlySet<string>): ChangedState {
  const { page } = state;
  if (page?.dir === undefined || !closed.has(page.dir)) return state;
  const { dir: _dir, ...rest } = page;
  return { ...state, page: rest };
}

function commandColumns({ tx }: Reader) {
  return tx`
    c.id, c.page_id as "pageId", p.title as "pageTitle", c.revision, c.kind, c.user_id as "userId", c.run_id as "runId",
    c.call_id as "callId", c.at, c.undoes, (select u.id from commands u where u.undoes = c.id) as "undoneBy"`;
}
