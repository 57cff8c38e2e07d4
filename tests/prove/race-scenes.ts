import { randomUUID } from "node:crypto";
import type { Queryable, Sql } from "@countersign/db/connect.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { beginCall } from "@countersign/engine/commits/begin-call.ts";
import { decideApproval } from "@countersign/engine/commits/decide-approval.ts";
import { type NewCall, type RecordTurn, recordTurn } from "@countersign/engine/commits/record-turn.ts";
import type { Hold } from "@countersign/engine/held-run.ts";
import {
  aBegin,
  aCall,
  aDecision,
  aGatedCall,
  aTurn,
  claimRun,
  givenRun,
  type World,
} from "@countersign/engine/testing/fixtures.ts";

/** A run on which acts meet, and all that they need to know of it. */
export interface Scene {
  readonly world: World;
  readonly runId: string;
  /** The hold of the worker that is at it, or was before the run parked. */
  readonly hold: Hold;
  readonly approvalId: string;
  /** The turn that asks for the approval, recorded already in every scene but the first. */
  readonly gate: RecordTurn;
  /** A call that is executing beside the one that waits. */
  readonly siblingId: string | undefined;
}

type SceneMaker = (sql: Sql, world: World) => Promise<Scene>;

const expiresMs = 600_000;

/** The moments in the life of a gated run at which the acts are let meet. */
export const scenes: Readonly<Record<string, SceneMaker>> = {
  /** A worker has asked the model and is about to record what it said. */
  "before the turn": async (sql, world) => await makeTurn(sql, world, []),

  /** The run is parked: a person is asked, nobody holds it. */
  parked: async (sql, world) => {
    const scene = await makeTurn(sql, world, []);
    await commitWithin(sql, recordTurn, scene.gate);
    return scene;
  },

  /** A person is asked while another call of the same turn is executing under a live lease. */
  "beside an effect": async (sql, world) => {
    const sibling = aCall({ position: 1, effect: "once" });
    const scene = await makeTurn(sql, world, [sibling]);
    await commitWithin(sql, recordTurn, scene.gate);
    await commitWithin(sql, beginCall, aBegin({ callId: sibling.id, hold: scene.hold }));
    return { ...scene, siblingId: sibling.id };
  },

  /** A person has approved, and no worker has taken the run up yet. */
  approved: async (sql, world) => {
    const scene = await makeTurn(sql, world, []);
    await commitWithin(sql, recordTurn, scene.gate);
    await commitWithin(sql, decideApproval, aDecision(world, scene, { userId: world.admin }));
    return scene;
  },
};

async function makeTurn(sql: Sql, world: World, siblings: readonly NewCall[]): Promise<Scene> {
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const approvalId = randomUUID();
  const card = { taskId: randomUUID(), title: "mail.send", body: "{}" };
  const gated = aGatedCall({ next: { kind: "approval", approvalId, card, expiresMs } });
  const gate = aTurn(hold, { calls: [gated, ...siblings] });
  return { world, runId, hold, approvalId, gate, siblingId: undefined };
}

/** Everything of a run that an order of acts may decide, without ids and times, as one text. */
export async function digestOf(sql: Queryable, runId: string): Promise<string> {
  const [row] = await sql<{ digest: object }[]>`
    select json_build_object(
             'run', json_build_object('status', r.status, 'waitsOn', r.waits_on, 'ready', r.ready_at is not null,
                                      'leased', r.lease_id is not null, 'epoch', r.epoch, 'turns', r.turns, 'unread', r.unread,
                                      'wakes', r.wake_at is not null, 'end', r.end_reason),
             'calls', (select json_agg(json_build_object('status', c.status, 'waitsOn', c.waits_on, 'attempt', c.attempt,
                                                         'epoch', c.epoch, 'code', c.result_code) order by c.position)
                         from tool_calls c where c.run_id = r.id),
             'approvals', (select json_agg(json_build_object('status', a.status, 'answer', a.answer, 'version', a.version,
                                                             'consumed', a.consumed_at is not null, 'card', t.status))
                             from approvals a left join tasks t on t.id = a.task_id where a.run_id = r.id),
             'log', (select json_agg(l.kind || ' ' || l.content order by l.seq) from run_log l where l.run_id = r.id),
             'audit', (select json_agg(u.action order by u.action) from audit u where u.run_id = r.id)) as digest
      from runs r
     where r.id = ${runId}`;
  return JSON.stringify(row?.digest, null, 1);
}
