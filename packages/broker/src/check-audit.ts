import type { Sql } from "@countersign/db/connect.ts";
import { type AuditHead, isHeadGenuine } from "./audit-heads.ts";
import type { AuditKey } from "./audit-key.ts";
import { type AuditBreak, type ChainEnd, verifyAudit } from "./verify-audit.ts";

/** What a check of one workspace found, as its row keeps it. */
export interface AuditCheckReport {
  readonly sealed: number;
  /** Rows that were not sealed yet, so that nothing can be said of them. */
  readonly unsealed: number;
  /** The last row of the chain; null where there is none. */
  readonly end: Pick<ChainEnd, "seq" | "hash"> | null;
  /** The furthest head that was kept outside the database: up to it a cut tail shows. Null where there is none. */
  readonly keptHead: AuditHead | null;
  /** Lines of the file of heads that are none. */
  readonly badLines: number;
  /** How many there are; `breaks` has the first hundred. */
  readonly broken: number;
  readonly breaks: readonly (Pick<AuditBreak, "what" | "message"> & { readonly seq: number | null })[];
}

/** What was kept outside the database: heads, and how many lines of their file are none. */
export interface KeptHeads {
  readonly heads: readonly AuditHead[];
  readonly badLines: readonly number[];
}

const mostBreaks = 100;

/** How long a check may stand still before it counts as left by its worker. */
const leftAfter = "1 minute";

/**
 * Makes the oldest check that somebody asked for and nobody is at: afterwards its row has the report. Answers whether there
 * was one. Any number of workers at once are safe; a check that its worker left is made anew by another.
 */
export async function checkAudit(sql: Sql, key: AuditKey, readKept: () => Promise<KeptHeads>): Promise<boolean> {
  const check = await takeCheck(sql);
  if (check === undefined) return false;
  const { id, workspaceId } = check;
  const { heads, badLines } = await readKept();
  const mine = heads.filter((head) => head.workspaceId === workspaceId);
  const found = await verifyAudit(sql, key, mine, { workspaceId, onRead: (rows) => noteRead(sql, id, rows) });
  const report: AuditCheckReport = {
    sealed: found.sealed,
    unsealed: found.unsealed,
    end: found.ends.map(({ seq, hash }) => ({ seq, hash }))[0] ?? null,
    keptHead: mine.filter((head) => isHeadGenuine(key, head)).toSorted((one, other) => other.seq - one.seq)[0] ?? null,
    badLines: badLines.length,
    broken: found.broken + badLines.length,
    breaks: found.breaks.slice(0, mostBreaks).map(({ what, message, seq = null }) => ({ what, message, seq })),
  };
  await sql.unsafe(
    `update audit_checks set finished_at = clock_timestamp(), rows_read = $2::bigint, report = $3::text::json
      where id = $1::uuid and finished_at is null`,
    [id, found.sealed, JSON.stringify(report)],
    { prepare: true },
  );
  return true;
}

async function takeCheck(sql: Sql): Promise<{ readonly id: string; readonly workspaceId: string } | undefined> {
  const [row] = await sql.unsafe<{ id: string; workspaceId: string }[]>(
    `update audit_checks set taken_at = clock_timestamp(), rows_read = 0
      where id = (select id from audit_checks
                   where finished_at is null and (taken_at is null or taken_at < clock_timestamp() - interval '${leftAfter}')
                   order by id limit 1 for no key update skip locked)
     returning id, workspace_id as "workspaceId"`,
    [],
    { prepare: true },
  );
  return row;
}

async function noteRead(sql: Sql, id: string, rows: number): Promise<void> {
  await sql.unsafe(
    `update audit_checks set taken_at = clock_timestamp(), rows_read = $2::bigint where id = $1::uuid and finished_at is null`,
    [id, rows],
    { prepare: true },
  );
}
