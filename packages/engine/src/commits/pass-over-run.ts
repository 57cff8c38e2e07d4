import type { Queryable } from "@countersign/db/connect.ts";

/** How long a run that could not be claimed waits for the next try at first; each further time as much longer. */
const firstWaitMs = 60_000;

/**
 * Afterwards a ready run that could not be claimed is ready only a while later, or in quarantine where that was the
 * `maxClaims`th claim without progress. Undefined: it is ready no more, or somebody has it, and nothing was done.
 */
export async function passOverRun(
  sql: Queryable,
  runId: string,
  maxClaims: number,
): Promise<"waits" | "quarantined" | undefined> {
  const [row] = await sql.unsafe<{ outcome: "waits" | "quarantined" }[]>(
    "select outcome from pass_over_run($1::uuid, $2::int, $3::bigint)",
    [runId, maxClaims, firstWaitMs],
    { prepare: true },
  );
  return row?.outcome;
}
