import type { Queryable } from "@countersign/db/connect.ts";
import { asRead, type RunSnapshot } from "../run-snapshot.ts";
import type { Hold } from "../held-run.ts";
import { togetherOrAlone } from "../together.ts";

export interface ClaimRuns {
  readonly worker: string;
  readonly leaseMs: number;
  readonly limit: number;
  /** The runs this process holds, whose news it wants. */
  readonly held: readonly Hold[];
  /** The tools this process can run, with their definition hashes. */
  readonly tools: ReadonlyMap<string, string>;
}

/** A run that is this worker's now, or one that it held before and that has news. */
export type Claimed =
  | { readonly kind: "claimed"; readonly snapshot: RunSnapshot }
  | { readonly kind: "news"; readonly runId: string };

interface Row {
  run_id: string;
  is_new: boolean;
  snapshot: Omit<RunSnapshot, "readAt">;
}

const claim = `select run_id, is_new, snapshot from claim_runs(
  $1::text, $2::bigint, $3::int, $4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::text[])`;

const candidates = `
  select r.id
    from runs r
   where r.ready_at <= clock_timestamp() and r.lease_id is null
     and not exists (select 1 from policies p
                      where p.killed_at is not null
                        and p.scope_id in ('00000000-0000-0000-0000-000000000000', r.workspace_id, r.definition_id, r.id))
     and (select 1 from tool_calls c
           where c.run_id = r.id and c.turn_seq = (select max(l.turn_seq) from tool_calls l where l.run_id = r.id)
             and c.status in ('requested', 'executing') and c.tool <> all ($2::text[])
           limit 1) is null
   order by r.ready_at
   limit $1`;

/** So many runs that cannot be claimed are passed over by a worker that has room for one. */
const passedOver = 100;

/**
 * Afterwards the returned runs are leased to this worker under a new epoch, or are news of runs it held; their approved
 * calls that needed no further look have begun. Where one run's rows make the batch fail the others are claimed one by one,
 * those behind it too, and `onFailure` is told of the culprit.
 */
export async function claimRuns(
  sql: Queryable,
  request: ClaimRuns,
  onFailure: (runId: string, error: unknown) => void | Promise<void>,
): Promise<readonly Claimed[]> {
  const send = async (only: readonly string[] | null, held: readonly Hold[]): Promise<Claimed[]> => {
    const rows = await sql.unsafe<Row[]>(
      claim,
      [
        request.worker,
        request.leaseMs,
        request.limit,
        only as string[] | null,
        held.map((hold) => hold.runId),
        held.map((hold) => hold.leaseId),
        [...request.tools.keys()],
        [...request.tools.values()],
      ],
      { prepare: true },
    );
    return rows.map((row) =>
      row.is_new ? { kind: "claimed", snapshot: asRead(row.snapshot) } : { kind: "news", runId: row.run_id },
    );
  };

  return await togetherOrAlone<{ readonly runId: string; readonly hold?: Hold }, Claimed>({
    together: () => send(null, request.held),
    members: async () => {
      const limit = request.limit === 0 ? 0 : request.limit + passedOver;
      const ready = await sql.unsafe<{ id: string }[]>(candidates, [limit, [...request.tools.keys()]], {
        prepare: true,
      });
      return [...request.held.map((hold) => ({ runId: hold.runId, hold })), ...ready.map(({ id }) => ({ runId: id }))];
    },
    alone: ({ runId, hold }) => (hold === undefined ? send([runId], []) : send([], [hold])),
    onFailure: ({ runId }, error) => onFailure(runId, error),
    isEnough: (done) => request.limit > 0 && done.filter(({ kind }) => kind === "claimed").length >= request.limit,
  });
}
