import { commitWithin } from "@countersign/engine/commit.ts";
import { classifyCall } from "@countersign/engine/commits/classify-call.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { givenRequestedCall } from "@countersign/engine/testing/fixtures.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

test("while its risk is judged a call shows as classifying; what that took adds up apart from the run's own", async () => {
  const world = await givenPeople(sql);
  const { runId, callId, hold } = await givenRequestedCall(sql, world, {
    effect: "once",
    verdict: "classify",
    gateRow: "24",
    gateReason: "above_dial:unknown",
  });
  const look = async () => {
    const tree = await send(server, world.tokens.viewer, "GET", `/v1/runs/${runId}/tree`);
    const { run, entries } = tree.body as {
      run?: Record<string, unknown>;
      entries?: readonly { calls: readonly { status: string; log: readonly { kind: string }[] }[] }[];
    };
    return { run, call: entries?.flatMap(({ calls }) => calls)[0] };
  };
  const before = await look();
  expect(before.call).toMatchObject({ status: "classifying", verdict: "classify" });
  expect(before.run?.["classifier"]).toEqual({
    calls: 0,
    inputTokens: 0,
    outputTokens: 0,
    costMicros: 0,
    latencyMs: 0,
  });

  await commitWithin(sql, classifyCall, {
    ...hold,
    callId,
    classified: "{}",
    verdict: "allow",
    gateRow: "22",
    gateReason: "classified:read-only",
    line: JSON.stringify({
      purpose: "classifier",
      level: "read-only",
      model: "small",
      promptVersion: 1,
      latencyMs: 120,
    }),
    usage: { inputTokens: 70, outputTokens: 2, costMicros: 5 },
  });
  const after = await look();
  expect(after.call).toMatchObject({
    status: "requested",
    gateReason: "classified:read-only",
    log: [{ kind: "call.classified", content: { purpose: "classifier", level: "read-only" } }],
  });
  expect(after.run).toMatchObject({
    costMicros: before.run?.["costMicros"],
    inputTokens: before.run?.["inputTokens"],
    classifier: { calls: 1, inputTokens: 70, outputTokens: 2, costMicros: 5, latencyMs: 120 },
  });
});

test("only what a person sends as themselves is known to be theirs", async () => {
  const world = await givenPeople(sql);
  const start = async (headers: Record<string, string> = {}) => {
    const answer = await send(server, world.tokens.operator, "POST", "/v1/runs", {
      body: { definition: "agent", input: "please" },
      headers,
    });
    return answer.body["id"] as string;
  };
  const runId = await start();
  await send(server, world.tokens.operator, "POST", `/v1/runs/${runId}/steer`, { body: { message: "and this" } });
  const [row] = await sql`
    select r.is_typed, s.is_typed as is_steer_typed from runs r join steers s on s.run_id = r.id where r.id = ${runId}`;
  expect(row).toEqual({ is_typed: true, is_steer_typed: true });

  await sql`update users set is_service = true where id = ${world.operator}`;
  const relayed = await start();
  const [other] = await sql`select is_typed from runs where id = ${relayed}`;
  expect(other).toEqual({ is_typed: false });
});
