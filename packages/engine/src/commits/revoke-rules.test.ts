import { transaction } from "@countersign/db/transaction.ts";
import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { engineDatabase } from "../testing/engine-database.ts";
import { givenGatedRun, givenRun, makeWorld, type World } from "../testing/fixtures.ts";
import { untilWaiting } from "../testing/held-lock.ts";
import { authorOf, givenRemembered, scopeOf, toolRule, writeRules } from "../testing/policy.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { type RevokedRule, revokeRules } from "./revoke-rules.ts";

const { sql, elsewhere } = await engineDatabase();

function named(...ids: readonly string[]): RevokedRule[] {
  return ids.map((id) => ({ id, version: 1, covers: ["mail.send"] }));
}

async function revoke(world: World, runId: string, which: readonly RevokedRule[] | "remembered", on = sql) {
  return await revokeRules(on, scopeOf(world, { run: runId }), authorOf(world), which, undefined);
}

async function liveIds(scopeId: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from rules where scope_id = ${scopeId} and revoked_at is null order by id`;
  return rows.map(({ id }) => id);
}

test("a revoked rule counts no more: the version moves, the audit says who and why, and workers are told of its tools", async () => {
  const world = await makeWorld(sql);
  const { runId } = await givenGatedRun(sql, world);
  const id = await givenRemembered(sql, world, { run: runId }, "mail.send");
  expect(await revoke(world, runId, named(id))).toEqual({
    kind: "done",
    rules: [{ kind: "revoked", id, version: 2, waiting: 1 }],
  });
  expect(await liveIds(runId)).toEqual([]);
  const [row] = await sql`
    select (select version::int from policies where scope_id = ${runId}) as policy,
           (select actor from audit where run_id = ${runId} and action = 'rule.revoked' and subject = ${id}) as actor,
           (select tools from policy_changes where scope_id = ${runId} order by id desc limit 1) as tools`;
  expect(row).toEqual({ policy: 1, actor: `user:${world.admin}`, tools: ["mail.send"] });
});

test("AZ43: of three rules in a list, one of which is gone meanwhile, the one that is named goes and no other", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const listed = [
    await givenRemembered(sql, world, { run: runId }, "kb.read"),
    await givenRemembered(sql, world, { run: runId }, "kb.append"),
    await givenRemembered(sql, world, { run: runId }, "mail.send"),
  ] as const;
  await revoke(world, runId, named(listed[0]));
  expect(await revoke(world, runId, named(listed[2]))).toMatchObject({ rules: [{ kind: "revoked", id: listed[2] }] });
  expect(await liveIds(runId)).toEqual([listed[1]]);
  // The list that was shown names rules that are gone, one of another scope, and one that is there: each says what it is.
  const other = await givenRemembered(sql, world, "workspace", "mail.send");
  const outcome = await revoke(world, runId, named(...listed, other));
  expect(outcome.kind === "done" && outcome.rules.map(({ kind, id }) => [kind, id])).toEqual(
    [
      ["already", listed[0]],
      ["revoked", listed[1]],
      ["already", listed[2]],
      ["not_found", other],
    ].toSorted((a, b) => (String(a[1]) < String(b[1]) ? -1 : 1)),
  );
  expect(await liveIds(world.workspaceId)).toEqual([other]);
});

test("AZ43: a rule that was changed since it was seen is stale, and stays", async () => {
  const world = await makeWorld(sql);
  const scope = scopeOf(world, "workspace");
  const [written] = await writeRules(sql, world, scope, toolRule("mail.send", "ask"));
  await writeRules(sql, world, scope, toolRule("mail.send", "off"));
  const before = await allRows(sql);
  const seen = [{ id: written?.id ?? "", version: 1, covers: ["mail.send"] }];
  expect(await revokeRules(sql, scope, authorOf(world), seen, undefined)).toEqual({
    kind: "done",
    rules: [{ kind: "stale", id: written?.id, version: 2 }],
  });
  expect(await allRows(sql)).toBe(before);
});

test("all that a run remembers goes at once, and what was written for it stays", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const [written] = await writeRules(sql, world, scopeOf(world, { run: runId }), toolRule("kb.append", "allow"));
  for (const tool of ["kb.read", "mail.send"]) await givenRemembered(sql, world, { run: runId }, tool);
  const outside = await givenRemembered(sql, world, "definition", "mail.send");
  expect(await revoke(world, runId, "remembered")).toMatchObject({ rules: [{ kind: "revoked" }, { kind: "revoked" }] });
  expect(await revoke(world, runId, "remembered")).toEqual({ kind: "done", rules: [] });
  expect(await liveIds(runId)).toEqual([written?.id]);
  expect(await liveIds(world.definitionId)).toEqual([outside]);
});

test("a run of another workspace, or none at all, has no rules to take back", async () => {
  const [world, foreign] = [await makeWorld(sql), await makeWorld(sql)];
  const runId = await givenRun(sql, world);
  const id = await givenRemembered(sql, world, { run: runId }, "mail.send");
  const before = await allRows(sql);
  expect(await revoke(foreign, runId, named(id))).toEqual({ kind: "not_found" });
  expect(await revoke(world, uuidv7(), named(id))).toEqual({ kind: "not_found" });
  expect(await allRows(sql)).toBe(before);
});

test("of two that take back the same rule behind one lock, one takes it and the other finds it gone", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const id = await givenRemembered(sql, world, { run: runId }, "mail.send");
  let late: ReturnType<typeof revoke> | undefined;
  await transaction(sql, async (tx) => {
    await revokeRules(tx, scopeOf(world, { run: runId }), authorOf(world), named(id), undefined);
    late = revoke(world, runId, named(id), elsewhere);
    await untilWaiting(tx, 1);
  });
  expect(await late).toMatchObject({ rules: [{ kind: "already" }] });
});

test("a revocation that fails at any write takes nothing", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  for (const tool of ["kb.read", "mail.send"]) await givenRemembered(sql, world, { run: runId }, tool);
  const { outcome, written } = await failAtEveryWrite(sql, (on) =>
    revokeRules(on, scopeOf(world, { run: runId }), authorOf(world), "remembered", "enough"),
  );
  expect(outcome).toMatchObject({ kind: "done" });
  expect(written).toEqual(["policies", "policy_changes", "rules", "audit"]);
});
