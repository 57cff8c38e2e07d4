import { decide } from "./decide.ts";
import type { Policy, ProposedCall, Verdict } from "./types.ts";

/** A call as it was judged once, and the policy that it was judged under. */
export interface RecordedVerdict {
  readonly id: string;
  readonly call: ProposedCall;
  readonly policy: Policy;
  readonly judgedAt: Date;
}

/** A call that would be judged otherwise. */
export interface ChangedVerdict {
  readonly id: string;
  readonly before: Verdict;
  readonly after: Verdict;
}

type Counts = Readonly<Record<Verdict["verdict"], number>>;

/** What a change of policy would have made of calls that were judged already. */
export interface Simulation {
  readonly judged: number;
  readonly before: Counts;
  readonly after: Counts;
  /** The calls that another verdict or another row would have met, in the order they were given. */
  readonly changes: readonly ChangedVerdict[];
}

/**
 * Judges calls again, each at its own time, under its policy as it was and as `change` makes it. Both sides are worked
 * out with the tools as they are now, so that what differs is the change and nothing else.
 */
export function simulate(calls: readonly RecordedVerdict[], change: (policy: Policy) => Policy): Simulation {
  const judged = calls.map(({ id, call, policy, judgedAt }) => ({
    id,
    before: decide(call, policy, judgedAt),
    after: decide(call, change(policy), judgedAt),
  }));
  return {
    judged: judged.length,
    before: countVerdicts(judged.map(({ before }) => before)),
    after: countVerdicts(judged.map(({ after }) => after)),
    changes: judged.filter(({ before, after }) => before.verdict !== after.verdict || before.row !== after.row),
  };
}

function countVerdicts(verdicts: readonly Verdict[]): Counts {
  const counts = { allow: 0, ask: 0, pick: 0, deny: 0, invalid: 0, held: 0 };
  for (const { verdict } of verdicts) counts[verdict] += 1;
  return counts;
}
