import { createHash, randomUUID } from "node:crypto";
import { capResult } from "@countersign/engine/cap-result.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { completeCall } from "@countersign/engine/commits/complete-call.ts";
import { recordTurn } from "@countersign/engine/commits/record-turn.ts";
import { stringifyExact } from "@countersign/engine/exact-text.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { aCall, aTurn, claimRun, givenGatedRun, givenRun, type World } from "@countersign/engine/testing/fixtures.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, startTestServer } from "../testing/harness.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

/** A run with one call that came to this, kept as the engine keeps it. */
async function givenResult(world: World, content: string): Promise<{ runId: string; callId: string }> {
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const call = aCall();
  await commitWithin(sql, recordTurn, aTurn(hold, { calls: [call] }));
  const { content: shown, ...capped } = await capResult(sql, world.workspaceId, content);
  const result = { callId: call.id, status: "done", result: stringifyExact(shown), ...capped } as const;
  expect(await commitWithin(sql, completeCall, { ...hold, ...result })).toMatchObject({ kind: "completed" });
  return { runId, callId: call.id };
}

async function get(path: string, token: string, method = "GET"): Promise<{ response: Response; bytes: Buffer }> {
  const response = await fetch(`${server.url}/v1${path}`, { method, headers: { authorization: `Bearer ${token}` } });
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

test("a result of 20 MB, of which the tree shows a part, is handed out to the last byte, and may not act in a browser", async () => {
  const world = await givenPeople(sql);
  const content = `<script>1</script>é\u202E${"0123456789abcdef".repeat(1_310_720)}the end`;
  const { runId, callId } = await givenResult(world, content);
  const { response, bytes } = await get(`/runs/${runId}/calls/${callId}/result`, world.tokens.viewer);
  expect(response.status).toBe(200);
  const sha256 = createHash("sha256").update(content).digest("hex");
  expect(createHash("sha256").update(bytes).digest("hex")).toBe(sha256);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": "text/plain; charset=utf-8",
    "content-length": String(Buffer.byteLength(content)),
    "content-disposition": expect.stringMatching(/^attachment; filename="result.txt"/),
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
    etag: `"${sha256}"`,
  });
  const head = await get(`/runs/${runId}/calls/${callId}/result`, world.tokens.viewer, "HEAD");
  expect(head.response.status).toBe(200);
  expect(head.bytes).toHaveLength(0);
});

test("a short result is handed out as the same text that the tree shows", async () => {
  const world = await givenPeople(sql);
  const { runId, callId } = await givenResult(world, "<b>short</b> é");
  const { response, bytes } = await get(`/runs/${runId}/calls/${callId}/result`, world.tokens.viewer);
  expect(bytes.toString("utf8")).toBe("<b>short</b> é");
  expect(response.headers.get("content-disposition")).toBe('attachment; filename="result.txt"');
  expect(response.headers.get("content-security-policy")).toBe("default-src 'none'; sandbox");
});

test("what is stored and is not what its hash says is never handed out as if it were whole", async () => {
  const world = await givenPeople(sql);
  const { runId, callId } = await givenResult(world, "0123456789abcdef".repeat(196_608));
  await sql`update blob_chunks set bytes = '\\x00'::bytea where workspace_id = ${world.workspaceId} and n = 2`;
  await expect(get(`/runs/${runId}/calls/${callId}/result`, world.tokens.viewer)).rejects.toThrow("terminated");
});

test("a call without a result, of another run, or in another workspace is not found, and an id has a form", async () => {
  const world = await givenPeople(sql);
  const other = await givenPeople(sql);
  const waits = await givenGatedRun(sql, world);
  const { runId, callId } = await givenResult(world, "read");
  const cases = [
    [`/runs/${waits.runId}/calls/${waits.callId}/result`, world, 404, "no result yet"],
    [`/runs/${waits.runId}/calls/${callId}/result`, world, 404, "has no call"],
    [`/runs/${runId}/calls/${randomUUID()}/result`, world, 404, "has no call"],
    [`/runs/${runId}/calls/${callId}/result`, other, 404, "not_found"],
    [`/runs/${runId}/calls/first/result`, world, 422, "param.callId"],
  ] as const;
  for (const [path, who, status, says] of cases) {
    const { response, bytes } = await get(path, who.tokens.admin);
    expect([path, response.status]).toEqual([path, status]);
    expect(bytes.toString("utf8")).toContain(says);
  }
});
