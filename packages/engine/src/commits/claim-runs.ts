import type { Queryable } from "@countersign/db/connect.ts";
import { asRead, type RunSnapshot } from "../run-snapshot.ts";
import type { Hold } from "../held-run.ts";

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

const candidates = `select id from runs where ready_at <= clock_timestamp() and lease_id is null order by ready_at limit $1`;

/**
 * Afterwards the returned runs are leased to this worker under a new epoch, or are news of runs it held; their approved calls that needed no further look have begun. Where one run's rows make the batch fail the others are claimed one by one, and `onFailure` is told of the culprit.
 */
export async function claimRuns(
  sql: Queryable,
  request: ClaimRuns,
  onFailure: (runId: string, error: unknown) => void,
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

  try {
    return await send(null, request.held);
  } catch {
    const claimed: Claimed[] = [];
    const sendOne = async (runId: string, only: readonly string[], held: readonly Hold[]): Promise<void> => {
      try {
        claimed.push(...(await send(only, held)));
      } catch (error) {
        onFailure(runId, error);
      }
    };
    for (const hold of request.held) await sendOne(hold.runId, [], [hold]);
    const ready = await sql.unsafe<{ id: string }[]>(candidates, [request.limit], { prepare: true });
    for (const { id } of ready) await sendOne(id, [id], []);
    return claimed;
  }
}
