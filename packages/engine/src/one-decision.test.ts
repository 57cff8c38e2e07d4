import { expect, test } from "vitest";
import { commitWithin } from "./commit.ts";
import { decideApproval } from "./commits/decide-approval.ts";
import { createCommitter } from "./committer.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { aDecision, claimRun, givenGatedRun, makeWorld } from "./testing/fixtures.ts";
import { callRow, countRows } from "./testing/rows.ts";

const { sql, elsewhere } = await engineDatabase();

test.each(["directly", "through group commits"])(
  "DU19, AZ29: of 50 decisions at once from two processes, half of them denials, one wins and all are told (%s)",
  async (way) => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    const committers = [sql, elsewhere].map((on) => createCommitter({ sql: on, stragglers: on, ring: () => {} }));
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const answer = index % 2 === 0 ? ("approve" as const) : ("deny" as const);
        const userId = index % 4 < 2 ? world.approver : world.otherApprover;
        const decision = aDecision(world, given, { answer, userId });
        const side = index % 3 === 0 ? 0 : 1;
        const commit = committers[side];
        if (way === "directly" || commit === undefined)
          return await commitWithin(side === 0 ? sql : elsewhere, decideApproval, decision);
        return await commit(decideApproval, decision);
      }),
    );

    const winners = outcomes.filter((outcome) => outcome.kind === "decided");
    expect(winners).toHaveLength(1);
    const [winner] = winners;
    if (winner === undefined || !("decidedBy" in winner)) throw new Error("nobody won");
    for (const outcome of outcomes) expect(outcome).toEqual({ ...winner, kind: outcome.kind });
    expect(new Set(outcomes.map((outcome) => outcome.kind))).toEqual(new Set(["decided", "repeated", "settled"]));

    const [audit] = await sql`
      select count(*)::int as rows, min(details ->> 'answer') as answer from audit where subject = ${given.approvalId}`;
    expect(audit).toEqual({ rows: 1, answer: winner.answer });
    expect(await countRows(sql, "run_log", given.runId)).toBe(3);
    await claimRun(sql, given.runId);
    const isApproved = winner.answer === "approve";
    expect(await callRow(sql, given.callId)).toMatchObject({
      status: isApproved ? "executing" : "denied",
      attempt: isApproved ? 1 : 0,
    });
  },
);
