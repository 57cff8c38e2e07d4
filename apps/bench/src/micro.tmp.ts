import { connect } from "@countersign/db/connect.ts";
import { migrate } from "@countersign/db/migrate.ts";
import { startOwnPostgres } from "./own-postgres.ts";
import { v7 as uuidv7 } from "uuid";
import { claimRuns } from "@countersign/engine/commits/claim-runs.ts";
import { completeCall } from "@countersign/engine/commits/complete-call.ts";
import { decideApproval } from "@countersign/engine/commits/decide-approval.ts";
import { recordTurn } from "@countersign/engine/commits/record-turn.ts";
import { startRun } from "@countersign/engine/commits/start-run.ts";
import { aDecision, aGatedCall, aTurn, makeWorld, toolHashes } from "@countersign/engine/testing/fixtures.ts";
const pg = await startOwnPostgres();
const url = await pg.createDatabase("micro");
const sql = connect(url, {max:1});
await migrate(sql);
await sql`create extension pg_stat_statements`; await sql`set pg_stat_statements.track='all'`;
const world = await makeWorld(sql);
const N = Number(process.argv[2] ?? 64), R = Number(process.argv[3] ?? 40);
const times: Record<string, number[]> = {};
async function t<T>(name: string, f: () => Promise<T>): Promise<T> { const a = performance.now(); const r = await f(); (times[name] ??= []).push(performance.now()-a); return r; }
const alone = { blocking: false };
const card = JSON.stringify({ tool: "mail.send", args: "x".repeat(300), floorReasons: [], lines: ["one", "two"], }) ;
async function claimAll(name: string) {
  const c = await t(name, () => claimRuns(sql, { worker: "t", leaseMs: 30000, limit: 1000, held: [], tools: toolHashes }, (_r, e) => { throw e; }));
  return c.flatMap((o) => o.kind === "claimed" ? [{ runId: o.snapshot.id, epoch: o.snapshot.epoch, leaseId: o.snapshot.leaseId ?? "" }] : []);
}
for (let i = 0; i < R; i++) {
  const starts = Array.from({ length: N }, () => ({ runId: uuidv7(), workspaceId: world.workspaceId, definitionId: world.definitionId, definitionVersion: 1, startedBy: world.operator, title: "a run", input: '"please"', grants: ["mail.send"] }));
  await t("1 start", () => startRun.send(sql, starts, alone));
  const turns = (await claimAll("2 claim")).map((h) => aTurn(h, { calls: [aGatedCall({ next: { kind: "approval", approvalId: uuidv7(), card: { taskId: uuidv7(), title: "mail.send", body: card }, expiresMs: undefined } })] }));
  await t("3 record", () => recordTurn.send(sql, turns, alone));
  const asked = turns.flatMap((turn) => turn.calls.flatMap(({ id, next }) => next.kind === "approval" ? [{ runId: turn.runId, callId: id, approvalId: next.approvalId }] : []));
  await t("4 decide", () => decideApproval.send(sql, asked.map((o) => aDecision(world, o)), alone));
  const holds = await claimAll("5 claim+begin");
  const callOf = new Map(asked.map(({ runId, callId }) => [runId, callId]));
  await t("6 complete", () => completeCall.send(sql, holds.map((h) => ({ ...h, callId: callOf.get(h.runId) ?? "", status: "done" as const, result: '"sent"' })), alone));
  await t("7 finish", () => recordTurn.send(sql, holds.map((h) => aTurn(h, { turn: 1, output: '"done"' })), alone));
  if (i === 6) await sql`select pg_stat_statements_reset()`;
  if (i === 5 || i === 15) await sql.unsafe("vacuum analyze").simple();
}
let sum = 0, msum = 0;
for (const [k, v] of Object.entries(times)) { const s = v.slice(5).toSorted((a, b) => a - b); sum += s[0]; msum += s[Math.floor(s.length/4)]; console.log(k.padEnd(14), "min", s[0].toFixed(2), "q1", s[Math.floor(s.length/4)].toFixed(2), "med", s[s.length >> 1].toFixed(2)); }
console.log("sum of mins", sum.toFixed(2), "ms for", N, "runs =", (sum / N).toFixed(3), "ms per run; q1", (msum/N).toFixed(3));
if (process.argv[4]) for (const r of await sql`select calls, round(min_exec_time::numeric,2) as min, round(mean_exec_time::numeric,2) as mean, left(regexp_replace(query,'\\s+',' ','g'),110) as q from pg_stat_statements where toplevel = false and calls>5 order by min_exec_time desc limit 36`) console.log(r.calls, r.min, r.mean, r.q);
await sql.end(); await pg.remove();
