import { request } from "node:http";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { givenGatedRun, givenRun, givenUnknownCall } from "@countersign/engine/testing/fixtures.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url, { publicUrl: "https://countersign.example" });
afterAll(() => server.stop());

async function metrics(headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  return await new Promise((done, failed) => {
    const asked = request(`${server.url}/metrics`, { headers }, (answer) => {
      let text = "";
      answer.on("data", (chunk: Buffer) => (text += chunk.toString()));
      answer.on("end", () => done({ status: answer.statusCode ?? 0, text }));
    });
    asked.on("error", failed);
    asked.end();
  });
}

function valueOf(text: string, name: string): number {
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}

test("the figures say what waits, for how long, and what was decided, by route and never by id", async () => {
  const world = await givenPeople(sql);
  expect(valueOf((await metrics()).text, "countersign_oldest_pending_approval_age_seconds")).toBe(0);
  const asked = await givenGatedRun(sql, world);
  await givenUnknownCall(sql, world);
  await sql`update approvals set requested_at = requested_at - interval '90 seconds' where id = ${asked.approvalId}`;
  const ready = await givenRun(sql, world);
  await sql`update runs set ready_at = ready_at - interval '30 seconds' where id = ${ready}`;

  const path = `/v1/approvals/${asked.approvalId}/decision`;
  await send(server, world.tokens.viewer, "POST", path, {
    body: { answer: "approve", argsDigest: "hash-of-args" },
    headers: { "if-match": '"1"' },
  });
  const { text } = await metrics();
  expect(valueOf(text, "countersign_oldest_pending_approval_age_seconds")).toBeGreaterThan(89);
  expect(valueOf(text, "countersign_oldest_ready_run_age_seconds")).toBeGreaterThan(29);
  expect(valueOf(text, "countersign_open_unknown_effects")).toBe(1);
  expect(valueOf(text, "countersign_ready_runs")).toBe(1);
  expect(text).toMatch(/countersign_decisions_total\{route="\/v1\/approvals\/:id\/decision",outcome="[a-z_]+"\} 1/);
  expect(text).not.toContain(asked.approvalId);
  expect(text).toContain("process_resident_memory_bytes");
});

test("only this machine itself and administrators read them", async () => {
  const world = await givenPeople(sql);
  expect((await metrics()).status).toBe(200);
  const passedOn = [
    { "x-forwarded-for": "203.0.113.9" },
    { forwarded: "for=203.0.113.9" },
    { host: "countersign.example" },
  ];
  for (const headers of passedOn) {
    expect((await metrics(headers)).status).toBe(401);
    expect((await metrics({ ...headers, authorization: `Bearer ${world.tokens.approver}` })).status).toBe(403);
    expect((await metrics({ ...headers, authorization: `Bearer ${world.tokens.admin}` })).status).toBe(200);
  }
});
