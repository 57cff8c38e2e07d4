import { v7 as uuidv7 } from "uuid";
import { describe, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aBegin,
  givenExecutingCall,
  givenRequestedCall,
  givenRun,
  makeWorld,
  type World,
} from "../testing/fixtures.ts";
import { adopt, callRow, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { beginCall } from "./begin-call.ts";
import { cancelRun } from "./cancel-run.ts";
import { revokeGrant, type RevokeGrant } from "./revoke-grant.ts";

const { sql, elsewhere } = await engineDatabase();

const mailCall = { tool: "mail.send", effect: "once", requires: ["mail.send"] } as const;

function aRevocation(world: World, runId: string, over: Partial<RevokeGrant> = {}): RevokeGrant {
  return { runId, workspaceId: world.workspaceId, userId: world.admin, capability: "mail.send", ...over };
}

async function grantsOf(runId: string): Promise<string[]> {
  const [row] = await sql<{ grants: string[] }[]>`select grants from runs where id = ${runId}`;
  return row?.grants ?? [];
}

test("a grant that is taken back is gone, its leases are revoked, the policy moves, and log and audit say who", async () => {
  const world = await makeWorld(sql);
  const given = await givenExecutingCall(sql, world, mailCall);
  await sql`update runs set grants = ${["mail.send", "web.fetch"]}::text[] where id = ${given.runId}`;
  expect(await commitWithin(sql, revokeGrant, aRevocation(world, given.runId))).toEqual({ kind: "revoked", runs: 1 });
  expect(await grantsOf(given.runId)).toEqual(["web.fetch"]);
  const [after] = await sql`
    select (select revoked_at is not null from capability_leases where call_id = ${given.callId}) as is_revoked,
           (select version::int from policies where scope_id = ${given.runId}) as policy,
           (select actor from audit where run_id = ${given.runId} and action = 'grant.revoked' and subject = 'mail.send') as actor,
           (select content from run_log where run_id = ${given.runId} and kind = 'grant.revoked') as line`;
  expect(after).toEqual({
    is_revoked: true,
    policy: 1,
    actor: `user:${world.admin}`,
    line: '"revoked mail.send"',
  });
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "executing" });
});

test("a call that was judged before needs another look, and then is not granted", async () => {
  const world = await makeWorld(sql);
  const given = await givenRequestedCall(sql, world, mailCall);
  await commitWithin(sql, revokeGrant, aRevocation(world, given.runId));
  const begin = aBegin(given, { tool: "mail.send" });
  const moved = await commitWithin(sql, beginCall, begin);
  expect(moved).toEqual({ kind: "policy_moved", versions: "1.1.1.1" });
  expect(await commitWithin(sql, beginCall, { ...begin, policyVersions: "1.1.1.1" })).toEqual({
    kind: "not_granted",
    capability: "mail.send",
  });
});

test("every descendant loses it too, and other runs keep it", async () => {
  const world = await makeWorld(sql);
  const [root, child, grandchild, other] = [
    await givenRun(sql, world),
    await givenRun(sql, world),
    await givenRun(sql, world),
    await givenRun(sql, world),
  ];
  await adopt(sql, root, child);
  await adopt(sql, child, grandchild);
  expect(await commitWithin(sql, revokeGrant, aRevocation(world, root))).toEqual({ kind: "revoked", runs: 3 });
  expect(await Promise.all([root, child, grandchild, other].map(grantsOf))).toEqual([[], [], [], ["mail.send"]]);
});

test("a run that waits goes on waiting: nobody is woken", async () => {
  const world = await makeWorld(sql);
  const given = await givenExecutingCall(sql, world, mailCall);
  const before = await runRow(sql, given.runId);
  await commitWithin(sql, revokeGrant, aRevocation(world, given.runId));
  expect(await runRow(sql, given.runId)).toEqual(before);
});

describe("nothing is taken back", () => {
  test("from a run of another workspace, or one that is not there", async () => {
    const [world, foreign] = [await makeWorld(sql), await makeWorld(sql)];
    const runId = await givenRun(sql, world);
    const before = await allRows(sql);
    expect(await commitWithin(sql, revokeGrant, aRevocation(foreign, runId))).toEqual({ kind: "not_found" });
    expect(await commitWithin(sql, revokeGrant, aRevocation(world, uuidv7()))).toEqual({ kind: "not_found" });
    expect(await allRows(sql)).toBe(before);
  });

  test("that the run never held, or from a run that has ended", async () => {
    const world = await makeWorld(sql);
    const [live, ended] = [await givenRun(sql, world), await givenRun(sql, world)];
    await commitWithin(sql, cancelRun, {
      runId: ended,
      workspaceId: world.workspaceId,
      userId: world.admin,
      reason: "enough",
    });
    const before = await allRows(sql);
    const unheld = aRevocation(world, live, { capability: "web.fetch" });
    expect(await commitWithin(sql, revokeGrant, unheld)).toEqual({ kind: "not_granted" });
    expect(await commitWithin(sql, revokeGrant, aRevocation(world, ended))).toEqual({ kind: "ended" });
    expect(await allRows(sql)).toBe(before);
  });

  test("a second time: whoever repeats it is told so", async () => {
    const world = await makeWorld(sql);
    const runId = await givenRun(sql, world);
    await commitWithin(sql, revokeGrant, aRevocation(world, runId));
    const before = await allRows(sql);
    expect(await commitWithin(sql, revokeGrant, aRevocation(world, runId))).toEqual({ kind: "already" });
    expect(await allRows(sql)).toBe(before);
  });
});

test("of two revocations behind one lock, one takes it and the other finds it taken", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const { waiting } = await behindLock(sql, runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, revokeGrant, aRevocation(world, runId)),
      () => commitWithin(elsewhere, revokeGrant, aRevocation(world, runId)),
    ],
  });
  expect(waiting.map((outcome) => outcome.kind).toSorted()).toEqual(["already", "revoked"]);
});

test("a call whose grant is taken back while it waits for the lock does not begin", async () => {
  const world = await makeWorld(sql);
  const given = await givenRequestedCall(sql, world, mailCall);
  const { waiting } = await behindLock(sql, given.runId, {
    first: (tx) => commitWithin(tx, revokeGrant, aRevocation(world, given.runId)),
    waiting: [() => commitWithin(elsewhere, beginCall, aBegin(given, { tool: "mail.send" }))],
  });
  expect(waiting).toEqual([{ kind: "policy_moved", versions: "1.1.1.1" }]);
});

test("a revocation that fails at any write takes nothing", async () => {
  const world = await makeWorld(sql);
  const { runId } = await givenExecutingCall(sql, world, mailCall);
  const { outcome, written } = await failAtEveryWrite(sql, (on) =>
    commitWithin(on, revokeGrant, aRevocation(world, runId)),
  );
  expect(outcome).toEqual({ kind: "revoked", runs: 1 });
  expect(written).toEqual(["policies", "policy_changes", "capability_leases", "audit", "run_log", "runs"]);
});
