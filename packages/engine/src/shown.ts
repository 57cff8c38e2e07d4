import type { Queryable, Sql, Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";

/** What of the workspace's own a tool shows its run: pages by id, directories by key, and what other runs wrote, by run. */
export interface Shown {
  readonly pages: Set<string>;
  readonly dirs: Set<string>;
  readonly runs: Set<string>;
}

/** To whom it is shown. */
export interface ShownTo {
  readonly workspaceId: string;
  readonly runId: string;
}

const toNote = `reads_to_note($1::uuid, $2::uuid, $3::uuid[], $4::text[], $5::uuid[])`;

/** For a call that has shown its run nothing yet. */
export function nothingShown(): Shown {
  return { pages: new Set(), dirs: new Set(), runs: new Set() };
}

/**
 * Reads in a read-only transaction of its own. What `body` puts into `shown` is kept for the run where it is closed to
 * somebody, before this returns: no result that holds it is stored without. Nothing is written where nothing is closed.
 */
export async function readShown<T>(sql: Sql, to: ShownTo, shown: Shown, body: (tx: Tx) => Promise<T>): Promise<T> {
  const read = await transaction(
    sql,
    async (tx) => {
      const found = await body(tx);
      return { found, isNews: isAnything(shown) && (await hasNews(tx, to, shown)) };
    },
    { isReadOnly: true },
  );
  if (read.isNews) await noteShown(sql, to, shown);
  return read.found;
}

/** Afterwards what is in `shown` is kept for the run, as far as it is closed to somebody; `shown` is empty. */
export async function noteShown(db: Queryable, to: ShownTo, shown: Shown): Promise<void> {
  if (!isAnything(shown)) return;
  await db.unsafe(
    `insert into run_reads (run_id, page_id, dir)
     select r.root_id, n.page_id, n.dir from ${toNote} n join runs r on r.id = $2::uuid
     on conflict do nothing`,
    parametersOf(to, shown),
    { prepare: true },
  );
  for (const set of [shown.pages, shown.dirs, shown.runs]) set.clear();
}

async function hasNews(tx: Tx, to: ShownTo, shown: Shown): Promise<boolean> {
  const [row] = await tx.unsafe<{ is: boolean }[]>(
    `select exists (select from ${toNote}) as is`,
    parametersOf(to, shown),
    { prepare: true },
  );
  return row?.is === true;
}

function parametersOf({ workspaceId, runId }: ShownTo, { pages, dirs, runs }: Shown) {
  return [workspaceId, runId, [...pages], [...dirs], [...runs]];
}

function isAnything({ pages, dirs, runs }: Shown): boolean {
  return pages.size + dirs.size + runs.size > 0;
}
