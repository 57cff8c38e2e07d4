import { transaction } from "@countersign/db/transaction.ts";
import { expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { aBegin, givenGatedRun, givenRequestedCall, makeWorld, type World } from "../testing/fixtures.ts";
import { untilWaiting } from "../testing/held-lock.ts";
import { authorOf } from "../testing/policy.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { beginCall } from "./begin-call.ts";
import { killTool, type ToolSwitch } from "./kill-tool.ts";
import { liftTool } from "./lift-tool.ts";

const { sql, elsewhere } = await engineDatabase();

function mailOf(world: World): ToolSwitch {
  return { kind: "tool", name: "mail.send", workspaceId: world.workspaceId, covers: ["mail.send"] };
}

test("a killed tool moves the workspace's version, says who and why, and how many approvals it touches", async () => {
  const world = await makeWorld(sql);
  await givenGatedRun(sql, world);
  expect(await killTool(sql, mailOf(world), authorOf(world), "it misbehaves")).toEqual({ kind: "killed", waiting: 1 });
  expect(await killTool(sql, mailOf(world), authorOf(world), "again")).toEqual({ kind: "already" });
  const [row] = await sql`
    select (select version::int from policies where scope_id = ${world.workspaceId}) as policy,
           (select details ->> 'reason' from audit where workspace_id = ${world.workspaceId} and action = 'scope.killed' and subject = 'tool:mail.send') as reason,
           (select tools from policy_changes where scope_id = ${world.workspaceId}) as tools`;
  expect(row).toEqual({ policy: 2, reason: "it misbehaves", tools: ["mail.send"] });
});

test("a call that was judged before the tool was killed does not begin without another look", async () => {
  const world = await makeWorld(sql);
  const given = await givenRequestedCall(sql, world);
  await killTool(sql, mailOf(world), authorOf(world), "stop");
  expect(await commitWithin(sql, beginCall, aBegin(given))).toMatchObject({ kind: "policy_moved" });
});

test("a lift takes the switch away, once, and says who and why", async () => {
  const world = await makeWorld(sql);
  await killTool(sql, mailOf(world), authorOf(world), "stop");
  expect(await liftTool(sql, mailOf(world), authorOf(world), "over")).toBe("lifted");
  expect(await liftTool(sql, mailOf(world), authorOf(world))).toBe("already");
  const [audit] = await sql`
    select subject, details ->> 'reason' as reason from audit
     where workspace_id = ${world.workspaceId} and action = 'scope.lifted'`;
  expect(audit).toEqual({ subject: "tool:mail.send", reason: "over" });
  const left = await sql`select from tool_switches where scope_id = ${world.workspaceId}`;
  expect(left).toHaveLength(0);
});

test("the switch of another workspace, of another tool, or of a server of that name is another switch", async () => {
  const [world, foreign] = [await makeWorld(sql), await makeWorld(sql)];
  await killTool(sql, mailOf(world), authorOf(world), "stop");
  const before = await allRows(sql);
  expect(await liftTool(sql, mailOf(foreign), authorOf(foreign))).toBe("already");
  expect(await liftTool(sql, { ...mailOf(world), kind: "server" }, authorOf(world))).toBe("already");
  expect(await liftTool(sql, { ...mailOf(world), workspaceId: undefined }, authorOf(world))).toBe("already");
  expect(await allRows(sql)).toBe(before);
});

test("of two that kill a tool behind one lock, one does and the other finds it done", async () => {
  const world = await makeWorld(sql);
  let late: ReturnType<typeof killTool> | undefined;
  await transaction(sql, async (tx) => {
    await killTool(tx, mailOf(world), authorOf(world), "first");
    late = killTool(elsewhere, mailOf(world), authorOf(world), "second");
    await untilWaiting(tx, 1);
  });
  expect(await late).toEqual({ kind: "already" });
});

test("a switch that fails at any write stays as it was, on the way on and on the way off", async () => {
  const world = await makeWorld(sql);
  const on = await failAtEveryWrite(sql, (tx) => killTool(tx, mailOf(world), authorOf(world), "stop"));
  const off = await failAtEveryWrite(sql, (tx) => liftTool(tx, mailOf(world), authorOf(world)));
  expect([on.written, off.written]).toEqual([
    ["tool_switches", "policies", "policy_changes", "audit"],
    ["tool_switches", "policies", "policy_changes", "audit"],
  ]);
});
