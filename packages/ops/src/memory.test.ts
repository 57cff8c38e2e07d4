import { randomUUID } from "node:crypto";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { consolidateMemory, listProposals, proposeMemory, readProposal, settleProposal } from "./memory.ts";

const { sql } = await testDatabase();
const pageId = randomUUID();
const userId = randomUUID();

async function newWorkspace(): Promise<string> {
  const id = randomUUID();
  await sql`insert into workspaces (id, name) values (${id}, 'test')`;
  return id;
}

async function propose(workspaceId: string, text: string, kind = "fact"): Promise<string> {
  return (await proposeMemory(sql, { workspaceId, kind, text, proposedBy: "run:1" })).id;
}

const consolidate = (workspaceId: string) => consolidateMemory(sql, { workspaceId, userId, consolidatedBy: "run:2" });

async function statusesOf(workspaceId: string): Promise<(string | null)[][]> {
  const rows = await sql<{ text: string; status: string; of: string | null }[]>`
    select text, status, duplicate_of as of from memory_proposals where workspace_id = ${workspaceId} order by id`;
  return rows.map(({ text, status, of }) => [text, status, of]);
}

test("a proposal waits in the list; the same one filed again is there once", async () => {
  const workspaceId = await newWorkspace();
  const id = randomUUID();
  const proposal = { id, workspaceId, kind: "fact", text: "Ann is in Rome.", proposedBy: "run:1", runId: randomUUID() };
  await proposeMemory(sql, proposal);
  await proposeMemory(sql, { ...proposal, text: "something else" });
  const listed = await listProposals(sql, { workspaceId, userId, status: "proposed", limit: 10 });
  expect(listed).toMatchObject([{ id, kind: "fact", text: "Ann is in Rome.", status: "proposed", settledAt: null }]);
});

test("consolidation keeps the first of those that say the same, and the same again closes nothing", async () => {
  const workspaceId = await newWorkspace();
  const first = await propose(workspaceId, "Ann is in Rome.");
  await propose(workspaceId, "ann  is in ROME");
  await propose(workspaceId, "“Ann is in Rome”");
  await propose(workspaceId, "Ann is in Rome.", "preference");
  await propose(workspaceId, "Ann is not in Rome.");
  expect(await consolidate(workspaceId)).toEqual({ closed: 2 });
  expect(await statusesOf(workspaceId)).toEqual([
    ["Ann is in Rome.", "proposed", null],
    ["ann  is in ROME", "duplicate", first],
    ["“Ann is in Rome”", "duplicate", first],
    ["Ann is in Rome.", "proposed", null],
    ["Ann is not in Rome.", "proposed", null],
  ]);
  expect(await consolidate(workspaceId)).toEqual({ closed: 0 });
});

test.each([
  ["Ann likes Bob", "Bob likes Ann"],
  ["it costs 1.5", "it costs 15"],
  ["it is -5", "it is 5"],
  ["use C", "use C++"],
  ["call her?", "call her"],
  ["a b", "ab"],
  ["naïve", "naive"],
])("%j and %j are two things to remember", async (one, other) => {
  const workspaceId = await newWorkspace();
  await propose(workspaceId, one);
  await propose(workspaceId, other);
  expect(await consolidate(workspaceId)).toEqual({ closed: 0 });
});

test("the same letters in another form are the same text", async () => {
  const workspaceId = await newWorkspace();
  await propose(workspaceId, "caf\u00e9");
  await propose(workspaceId, "cafe\u0301");
  expect(await consolidate(workspaceId)).toEqual({ closed: 1 });
});

test("what was accepted or dismissed before is not asked again", async () => {
  const workspaceId = await newWorkspace();
  const accepted = await propose(workspaceId, "one");
  const dismissed = await propose(workspaceId, "two");
  const place = { pageId, nodeId: randomUUID() };
  expect(await settleProposal(sql, { workspaceId, id: accepted, settledBy: "user:1", place })).toBe(true);
  expect(await settleProposal(sql, { workspaceId, id: dismissed, settledBy: "user:1" })).toBe(true);
  await propose(workspaceId, "One.");
  await propose(workspaceId, "Two.");
  expect(await consolidate(workspaceId)).toEqual({ closed: 2 });
  expect(await statusesOf(workspaceId)).toEqual([
    ["one", "accepted", null],
    ["two", "dismissed", null],
    ["One.", "duplicate", accepted],
    ["Two.", "duplicate", dismissed],
  ]);
});

test("consolidations at once agree, and close each duplicate once", async () => {
  const workspaceId = await newWorkspace();
  for (let n = 0; n < 20; n += 1) await propose(workspaceId, n % 2 === 0 ? "even" : "odd");
  const closed = await Promise.all(Array.from({ length: 5 }, () => consolidate(workspaceId)));
  expect(closed.reduce((sum, one) => sum + one.closed, 0)).toBe(18);
  expect(await listProposals(sql, { workspaceId, userId, status: "proposed", limit: 10 })).toHaveLength(2);
});

test("of two who settle a proposal at once one does, and a duplicate is settled by nobody", async () => {
  const workspaceId = await newWorkspace();
  const id = await propose(workspaceId, "one");
  const place = { pageId, nodeId: randomUUID() };
  const outcomes = await Promise.all([
    settleProposal(sql, { workspaceId, id, settledBy: "user:1", place }),
    settleProposal(sql, { workspaceId, id, settledBy: "user:2" }),
  ]);
  expect(outcomes.filter(Boolean)).toHaveLength(1);
  const again = await propose(workspaceId, "one");
  await consolidate(workspaceId);
  expect(await settleProposal(sql, { workspaceId, id: again, settledBy: "user:1" })).toBe(false);
});

test("another workspace's proposals are neither seen, settled nor taken for the same", async () => {
  const [mine, other] = [await newWorkspace(), await newWorkspace()];
  const id = await propose(mine, "one");
  await propose(other, "one");
  expect(await readProposal(sql, { workspaceId: other, userId }, id)).toBeUndefined();
  expect(await settleProposal(sql, { workspaceId: other, id, settledBy: "user:1" })).toBe(false);
  expect(await consolidate(other)).toEqual({ closed: 0 });
  expect(await listProposals(sql, { workspaceId: other, userId, status: "proposed", limit: 10 })).toHaveLength(1);
});
