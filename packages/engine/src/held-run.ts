import { bigint, uuid } from "./commit.ts";

/**
 * The hold a worker has on a run. Every write of a worker is guarded by both: the epoch fences, and the random id tells a
 * lease that a crash of the database took back from the one that followed.
 */
export interface Hold {
  readonly runId: string;
  readonly epoch: number;
  readonly leaseId: string;
}

/** The columns of the guard, the same in every commit of a worker. */
export const holdColumns = {
  p_runs: uuid((hold: Hold) => hold.runId),
  p_epochs: bigint((hold: Hold) => hold.epoch),
  p_leases: uuid((hold: Hold) => hold.leaseId),
};

/** What a worker's commit says about the run besides its own outcome. */
export interface Standing {
  /** Something became ready meanwhile and was taken in this commit: look at the run again. */
  readonly hasNews: boolean;
  /** Nothing is left to do: the lease is given back. */
  readonly isParked: boolean;
}

export interface StandingRow {
  run_id: string;
  has_news: boolean;
  is_parked: boolean;
}

/** Where the run stands after a commit, from the columns that each commit of a holder returns. */
export function standingOf(row: StandingRow): Standing {
  return { hasNews: row.has_news, isParked: row.is_parked };
}
