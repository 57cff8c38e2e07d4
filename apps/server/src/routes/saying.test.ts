import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { claimRun, givenRun } from "@countersign/engine/testing/fixtures.ts";
import { streamDeltas } from "@countersign/engine/stream-deltas.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

test("what a model says is read while it says it, from the beginning of the turn, and no longer than the turn", async () => {
  const world = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  const ask = async () => (await send(server, world.tokens.viewer, "GET", `/v1/runs/${runId}/saying`)).body;
  expect(await ask()).toEqual({ turn: 0, text: "", thinking: "", tools: [], trouble: null });

  const hold = await claimRun(sql, runId);
  const lost = streamDeltas({ sql, hold, turn: 0 });
  lost.push({ kind: "text", text: "an attempt that broke off" });
  await expect.poll(async () => (await ask())["text"]).toBe("an attempt that broke off");
  await lost.end();

  const told = streamDeltas({ sql, hold, turn: 0 });
  told.push({ kind: "started" });
  told.push({ kind: "thinking", text: "hm" });
  told.push({ kind: "text", text: "I look " });
  told.push({ kind: "text", text: "it up." });
  told.push({ kind: "tool_use", tool: "kb.read" });
  await expect.poll(ask).toEqual({ turn: 0, text: "I look it up.", thinking: "hm", tools: ["kb.read"], trouble: null });
  await told.end();

  await sql`update runs set turns = 1 where id = ${runId}`;
  expect(await ask()).toEqual({ turn: 1, text: "", thinking: "", tools: [], trouble: null });
});

test("a model that is asked in vain is told of, with the reason, until it says something", async () => {
  const world = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  const ask = async () => (await send(server, world.tokens.viewer, "GET", `/v1/runs/${runId}/saying`)).body;
  const told = streamDeltas({ sql, hold: await claimRun(sql, runId), turn: 0 });
  told.push({ kind: "started" });
  told.push({ kind: "text", text: "half a sen" });
  told.push({ kind: "retried", reason: "The model provider is overloaded; asked once" });
  const inVain = {
    turn: 0,
    text: "",
    thinking: "",
    tools: [],
    trouble: "The model provider is overloaded; asked once",
  };
  await expect.poll(ask).toEqual(inVain);
  told.push({ kind: "started" });
  expect(await ask()).toEqual(inVain);
  told.push({ kind: "text", text: "Now." });
  await expect.poll(ask).toEqual({ turn: 0, text: "Now.", thinking: "", tools: [], trouble: null });
  await told.end();
});
