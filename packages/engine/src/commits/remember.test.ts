import { v7 as uuidv7 } from "uuid";
import { describe, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aBegin,
  aDecision,
  claimRun,
  givenGatedRun,
  givenRequestedCall,
  makeWorld,
  type World,
} from "../testing/fixtures.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { beginCall } from "./begin-call.ts";
import { decideApproval, decideApprovals, type DecideApproval, type Remembered } from "./decide-approval.ts";
import { killScope } from "./kill-scope.ts";
import { liftScope } from "./lift-scope.ts";

const { sql, elsewhere } = await engineDatabase();

const entries = [{ kind: "unit", unit: "ann@example.com" }];

function remember(scope: Remembered["scope"], over: Partial<Remembered> = {}): Remembered {
  return { ruleId: uuidv7(), scope, entries, ...over };
}

async function decide(decision: DecideApproval) {
  return await commitWithin(sql, decideApproval, decision);
}

async function rulesOf(world: World) {
  return await sql`
    select scope, scope_id, target_kind, target_name, mode, is_remembered, entries, definition_hash, approval_id, created_by
      from rules where workspace_id = ${world.workspaceId} order by id`;
}

describe("an approval that is remembered", () => {
  test.each(["run", "definition", "workspace"] as const)(
    "for the %s writes the rule in its own commit, narrowed and pinned, and policy moves",
    async (scope) => {
      const world = await makeWorld(sql);
      const given = await givenGatedRun(sql, world);
      const userId = scope === "workspace" ? world.admin : world.approver;
      const decided = await decide(
        aDecision(world, given, { userId, remember: remember(scope), way: "token:x over http" }),
      );
      expect(decided).toMatchObject({ kind: "decided" });
      const scopeId = { run: given.runId, definition: world.definitionId, workspace: world.workspaceId }[scope];
      expect(await rulesOf(world)).toEqual([
        {
          scope,
          scope_id: scopeId,
          target_kind: "tool",
          target_name: "mail.send",
          mode: "allow",
          is_remembered: true,
          entries,
          definition_hash: "hash-of-mail.send",
          approval_id: given.approvalId,
          created_by: userId,
        },
      ]);
      const [row] =
        await sql`select a.scope, p.version > ${scope === "run" ? 0 : 1} as has_moved from approvals a join policies p on p.scope_id = ${scopeId} where a.id = ${given.approvalId}`;
      expect(row).toEqual({ scope, has_moved: true });
      const audit =
        await sql`select action, details ->> 'way' as way from audit where workspace_id = ${world.workspaceId} and action <> 'tool.pinned' order by id`;
      expect(audit).toEqual([
        { action: "approval.decided", way: "token:x over http" },
        { action: "rule.written", way: "token:x over http" },
      ]);
    },
  );

  test("takes a second look before it begins, since policy moved with it", async () => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    await decide(aDecision(world, given, { remember: remember("run") }));
    const { snapshot } = await claimRun(sql, given.runId);
    expect(snapshot.calls).toMatchObject([{ status: "requested", approval: { status: "approved" } }]);
  });

  test("once leaves no rule, nor does a denial, nor a decision that is refused", async () => {
    const world = await makeWorld(sql);
    const once = await givenGatedRun(sql, world);
    await decide(aDecision(world, once));
    const denied = await givenGatedRun(sql, world);
    await decide(aDecision(world, denied, { answer: "deny", remember: remember("run") }));
    const refused = await givenGatedRun(sql, world);
    for (const over of [{ version: 2 }, { userId: world.operator }])
      await decide(aDecision(world, refused, { ...over, remember: remember("run") }));
    expect(await rulesOf(world)).toEqual([]);
    const [row] =
      await sql`select array_agg(scope order by id) as scopes from approvals where workspace_id = ${world.workspaceId}`;
    expect(row).toEqual({ scopes: ["once", null, null] });
  });

  test("for the workspace is an administrator's to say: an approver is refused, in the audit, and nothing is decided", async () => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    expect(await decide(aDecision(world, given, { remember: remember("workspace") }))).toMatchObject({
      kind: "may_not_remember",
    });
    expect(await rulesOf(world)).toEqual([]);
    const audit = await sql`select details ->> 'outcome' as outcome from audit where subject = ${given.approvalId}`;
    expect(audit).toEqual([{ outcome: "may_not_remember" }]);
    const [row] = await sql`select status from approvals where id = ${given.approvalId}`;
    expect(row).toEqual({ status: "pending" });
  });

  test("under a quorum is written once all agree on it, and a vote for once is none for always", async () => {
    const world = await makeWorld(sql, { approvers: { quorum: 2 } });
    const given = await givenGatedRun(sql, world);
    await decide(aDecision(world, given, { remember: remember("definition") }));
    expect(await decide(aDecision(world, given, { userId: world.otherApprover }))).toMatchObject({ kind: "voted" });
    expect(await rulesOf(world)).toEqual([]);
    expect(
      await decide(aDecision(world, given, { userId: world.admin, remember: remember("definition") })),
    ).toMatchObject({ kind: "decided" });
    expect(await rulesOf(world)).toHaveLength(1);
  });

  test("for a definition whose runs their starters do not decide on is an administrator's: it answers for their own, too", async () => {
    const world = await makeWorld(sql, { approvers: { selfApproval: "forbid" } });
    const given = await givenGatedRun(sql, world);
    const always = { remember: remember("definition") };
    expect(await decide(aDecision(world, given, always))).toMatchObject({ kind: "may_not_remember" });
    expect(await decide(aDecision(world, given, { ...always, userId: world.admin }))).toMatchObject({
      kind: "decided",
    });
  });

  test("in a batch, the same rule of several decisions is one, so that to take it back takes back all of it", async () => {
    const world = await makeWorld(sql);
    const always = { remember: remember("definition") };
    const decisions = [];
    for (const run of [await givenGatedRun(sql, world), await givenGatedRun(sql, world)])
      decisions.push(aDecision(world, run, { remember: { ...always.remember, ruleId: uuidv7() } }));
    await commitWithin(sql, decideApprovals, decisions);
    expect(await rulesOf(world)).toHaveLength(1);
    const audit = await sql`select from audit where workspace_id = ${world.workspaceId} and action = 'rule.written'`;
    expect(audit).toHaveLength(1);
  });

  test("in a batch, each way of authentication is the one its rule was written with", async () => {
    const world = await makeWorld(sql);
    const ways = ["token:a over http", "session:b over web", "token:a over http"];
    const decisions = [];
    for (const way of ways)
      decisions.push(aDecision(world, await givenGatedRun(sql, world), { way, remember: remember("run") }));
    const outcomes = await commitWithin(sql, decideApprovals, decisions);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["decided", "decided", "decided"]);
    const audit = await sql<{ run_id: string; way: string }[]>`
      select run_id, details ->> 'way' as way from audit where workspace_id = ${world.workspaceId} and action = 'rule.written'`;
    for (const [i, { runId }] of decisions.entries())
      expect(audit.filter((row) => row.run_id === runId)).toEqual([{ run_id: runId, way: ways[i] }]);
  });

  test("of two that leave rules in one definition, both are decided and neither waits for the other for ever", async () => {
    const world = await makeWorld(sql);
    const [one, other] = [await givenGatedRun(sql, world), await givenGatedRun(sql, world)];
    const [first, second] = await Promise.all([
      decide(aDecision(world, one, { remember: remember("definition") })),
      commitWithin(
        elsewhere,
        decideApproval,
        aDecision(world, other, { userId: world.admin, remember: remember("definition", { entries: [] }) }),
      ),
    ]);
    expect([first.kind, second.kind]).toEqual(["decided", "decided"]);
    expect(await rulesOf(world)).toHaveLength(2);
  });

  test("does not deadlock with starts, other rules of the same scopes and kill switches, in any order", async () => {
    const world = await makeWorld(sql);
    const scope = { scope: "definition", scopeId: world.definitionId, workspaceId: world.workspaceId } as const;
    for (let round = 0; round < 6; round += 1) {
      const asked = [];
      for (let i = 0; i < 6; i += 1) asked.push(await givenGatedRun(sql, world));
      const starting = await givenRequestedCall(sql, world, { effect: "once" });
      const acts = [
        ...asked.map((each, i) => () => {
          const on = i % 2 === 0 ? sql : elsewhere;
          const to = (["definition", "workspace", "run"] as const)[i % 3] ?? "run";
          const decision = aDecision(world, each, { userId: world.admin, remember: remember(to, { entries: [i] }) });
          return commitWithin(on, decideApproval, decision);
        }),
        () => commitWithin(elsewhere, beginCall, aBegin(starting)),
        () => killScope(elsewhere, scope, world.admin, "drill"),
        () => liftScope(sql, scope, world.admin),
      ];
      const order = round % 2 === 0 ? acts : acts.toReversed();
      const outcomes = await Promise.allSettled(order.map((act) => act()));
      expect(outcomes.filter(({ status }) => status === "rejected")).toEqual([]);
      await liftScope(sql, scope, world.admin);
    }
  });

  test("of two decisions behind one lock, only the winner leaves a rule", async () => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    await behindLock(sql, given.runId, {
      first: async () => {},
      waiting: [
        () => commitWithin(sql, decideApproval, aDecision(world, given, { remember: remember("run") })),
        () =>
          commitWithin(
            elsewhere,
            decideApproval,
            aDecision(world, given, { userId: world.otherApprover, remember: remember("definition") }),
          ),
      ],
    });
    expect(await rulesOf(world)).toHaveLength(1);
  });

  test("DU05: that fails at any write leaves neither decision nor rule", async () => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    const before = await allRows(sql);
    const { outcome, written } = await failAtEveryWrite(sql, (on) =>
      commitWithin(on, decideApproval, aDecision(world, given, { remember: remember("definition") })),
    );
    expect(outcome.kind).toBe("decided");
    expect(written).toEqual(expect.arrayContaining(["approvals", "rules", "policies", "audit", "runs"]));
    expect(await allRows(sql)).not.toBe(before);
  });
});

test("an approval whose card has options goes with one of them, and any other with none", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world);
  await sql`update approvals set options = '["a","b"]' where id = ${given.approvalId}`;
  for (const over of [{}, { selectedOption: "c" }])
    expect(await decide(aDecision(world, given, over))).toMatchObject({ kind: "not_offered" });
  expect(await decide(aDecision(world, given, { selectedOption: "b" }))).toMatchObject({ kind: "decided" });
  const [row] = await sql`select selected_option from approvals where id = ${given.approvalId}`;
  expect(row).toEqual({ selected_option: "b" });
  const plain = await givenGatedRun(sql, world);
  expect(await decide(aDecision(world, plain, { selectedOption: "a" }))).toMatchObject({ kind: "not_offered" });
  const denied = await givenGatedRun(sql, world);
  await sql`update approvals set options = '["a"]' where id = ${denied.approvalId}`;
  expect(await decide(aDecision(world, denied, { answer: "deny" }))).toMatchObject({ kind: "decided" });
});

test("changed arguments are kept beside those that were asked for, under no column that a model writes", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world);
  const edited = { args: '{"to":"ann"}', argsHash: "hash of ann" };
  await decide(aDecision(world, given, { edited }));
  const [row] = await sql`
    select a.args_hash, a.edited_args, a.edited_args_hash, c.args, c.args_hash as call_hash
      from approvals a join tool_calls c on c.id = a.call_id where a.id = ${given.approvalId}`;
  expect(row).toEqual({
    args_hash: "hash-of-args",
    edited_args: edited.args,
    edited_args_hash: edited.argsHash,
    args: "{}",
    call_hash: "hash-of-args",
  });
  // What runs is not what the claim knows, so it begins nothing.
  const { snapshot } = await claimRun(sql, given.runId);
  expect(snapshot.calls).toMatchObject([{ status: "requested" }]);
});
