import type { Queryable } from "@countersign/db/connect.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { cancelRun } from "@countersign/engine/commits/cancel-run.ts";
import { completeCall } from "@countersign/engine/commits/complete-call.ts";
import { decideApproval } from "@countersign/engine/commits/decide-approval.ts";
import { expireWaits } from "@countersign/engine/commits/expire-waits.ts";
import { extendApproval } from "@countersign/engine/commits/extend-approval.ts";
import { killScope } from "@countersign/engine/commits/kill-scope.ts";
import { recordTurn } from "@countersign/engine/commits/record-turn.ts";
import { recoverRuns } from "@countersign/engine/commits/recover-runs.ts";
import { steerRun } from "@countersign/engine/commits/steer-run.ts";
import { aDecision, aSteer, aTurn, toolHashes } from "@countersign/engine/testing/fixtures.ts";
import { endLease, moveDeadlines } from "@countersign/engine/testing/rows.ts";
import type { Scene } from "./race-scenes.ts";

/** Something that somebody does to a run, once. */
export interface Act {
  /** The outcome, as a word. */
  readonly perform: (on: Queryable, scene: Scene) => Promise<string>;
  /** What has to be true before it, such as that time has passed. Done under the lock. */
  readonly prepare?: (on: Queryable, scene: Scene) => Promise<void>;
  /** True for what a sweep or a claim does: it never waits for a row, it passes over it and comes again. */
  readonly passesOver?: boolean;
}

/** Every party to a race on a gated run. */
export const acts: Readonly<Record<string, Act>> = {
  gate: {
    perform: async (on, scene) => (await commitWithin(on, recordTurn, scene.gate)).kind,
  },
  approve: {
    perform: async (on, scene) => (await commitWithin(on, decideApproval, aDecision(scene.world, scene))).kind,
  },
  deny: {
    perform: async (on, scene) => {
      const denial = aDecision(scene.world, scene, { answer: "deny", userId: scene.world.otherApprover });
      return (await commitWithin(on, decideApproval, denial)).kind;
    },
  },
  extend: {
    perform: async (on, { world, runId, approvalId }) => {
      const { workspaceId, admin: userId } = world;
      const until = new Date(Date.now() + 3_600_000);
      return (await commitWithin(on, extendApproval, { runId, approvalId, workspaceId, userId, until })).kind;
    },
  },
  steer: {
    perform: async (on, { world, runId }) => (await commitWithin(on, steerRun, aSteer(world, runId))).kind,
  },
  cancel: {
    perform: async (on, { world, runId }) => {
      const { workspaceId, operator: userId } = world;
      return (await commitWithin(on, cancelRun, { runId, workspaceId, userId, reason: "no longer wanted" })).kind;
    },
  },
  kill: {
    perform: async (on, { world, runId }) => {
      const scope = { scope: "run", scopeId: runId, workspaceId: world.workspaceId } as const;
      return await killScope(on, scope, world.admin, "stop");
    },
  },
  /** The worker comes to its end: the run's, or that of the effect it is at. */
  finish: {
    perform: async (on, { hold, gate, siblingId }) => {
      if (siblingId === undefined)
        return (await commitWithin(on, recordTurn, aTurn(hold, { turn: gate.turn, output: '"done"' }))).kind;
      const result = { callId: siblingId, status: "done", result: '"sent"' } as const;
      return (await commitWithin(on, completeCall, { ...hold, ...result })).kind;
    },
  },
  expire: {
    passesOver: true,
    prepare: async (on, { runId }) => await moveDeadlines(on, runId, -1),
    perform: async (on, { runId }) => {
      const expired = await expireWaits(on, 100);
      return expired.includes(runId) ? "expired" : "none";
    },
  },
  "lose the lease": {
    passesOver: true,
    prepare: async (on, { runId }) => await endLease(on, runId),
    perform: async (on, { runId }) =>
      (await recoverRuns(on, 100, 5)).find((one) => one.runId === runId)?.kind ?? "none",
  },
  claim: {
    passesOver: true,
    perform: async (on, { runId }) => {
      const rows = await on.unsafe<{ is_new: boolean }[]>(
        `select is_new from claim_runs('other', 30000, 1, array[$1::uuid], '{}', '{}', $2::text[], $3::text[])`,
        [runId, [...toolHashes.keys()], [...toolHashes.values()]],
        { prepare: true },
      );
      return rows.length === 1 ? "claimed" : "none";
    },
  },
};
