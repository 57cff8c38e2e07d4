import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { makeAuditJwk, parseAuditKey } from "@countersign/broker/audit-key.ts";
import { sealAudit } from "@countersign/broker/seal-audit.ts";
import { verifyAudit } from "@countersign/broker/verify-audit.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { afterAll, expect, test } from "vitest";
import { type Asked, givenMail, sendDecision, setApprovers } from "@countersign/server/testing/asking.ts";
import { givenPeople, send, startTestServer } from "@countersign/server/testing/harness.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

const { key } = parseAuditKey(makeAuditJwk(), "a test key");

/** Another transaction of the server, in whatever database, holds sealing up while it lasts; none of them lasts long. */
async function sealAll(): Promise<void> {
  for (;;) {
    await sealAudit(sql, key);
    const [left] = await sql<{ n: number }[]>`
      select count(*)::int as n from audit a join audit_progress p on (a.xid, a.id) > (p.xid, p.id)`;
    if (left?.n === 0) return;
    await pause(5);
  }
}

interface Entry {
  readonly action: string;
  readonly actorName: string;
  readonly details: string;
  readonly seal: { readonly seq: number; readonly hash: string } | null;
}

async function receiptOf(token: string, { approvalId }: Asked) {
  const { status, body } = await send(server, token, "GET", `/v1/approvals/${approvalId}/receipt`);
  return { status, body, entries: (body["entries"] ?? []) as Entry[] };
}

test("AZ58: the receipt holds the card as it was shown, and who said what of it when and how authenticated, sealed", async () => {
  const world = await givenPeople(sql);
  await setApprovers(sql, world, { quorum: 2 });
  const asked = await givenMail(sql, world, { card: { tool: "mail.send", note: "ünïcode   spaces" } });
  await sendDecision(server, world.tokens.viewer, asked, { answer: "approve" });
  await sendDecision(server, world.tokens.approver, asked, { answer: "approve", note: "between us" });
  await sendDecision(server, world.tokens.otherApprover, asked, { answer: "approve" });
  const before = await receiptOf(world.tokens.approver, asked);
  expect(before.body).toMatchObject({ isSealed: false, status: "approved", answer: "approve", gateRow: "19" });

  await sealAll();
  const { body, entries } = await receiptOf(world.tokens.approver, asked);
  expect(body).toMatchObject({ isSealed: true, argsHash: asked.argsDigest, policyVersions: "1.1.1.0" });
  expect(body["card"]).toBe('{"tool":"mail.send","note":"ünïcode   spaces"}');
  const cardHash = createHash("sha256").update(String(body["card"])).digest("hex");
  expect(body["cardHash"]).toBe(cardHash);
  expect(entries.map(({ action, actorName }) => [action, actorName])).toEqual([
    ["approval.decision_refused", "Vic Viewer"],
    ["approval.voted", "Abe Approver"],
    ["approval.decided", "Ann Approver"],
  ]);
  for (const { details, seal } of entries) {
    expect(seal).toMatchObject({ seq: expect.any(Number), hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(JSON.parse(details)).toMatchObject({
      cardHash,
      argsHash: asked.argsDigest,
      version: 1,
      policyVersions: "1.1.1.0",
      gateRow: "19",
      way: expect.stringMatching(/^token:/),
    });
    expect(details).not.toContain("between us");
  }
  expect((await verifyAudit(sql, key, [])).breaks).toEqual([]);
});

test("a receipt is for approvers, and of one's own workspace", async () => {
  const world = await givenPeople(sql);
  const neighbor = await givenPeople(sql);
  const asked = await givenMail(sql, world);
  expect((await receiptOf(world.tokens.operator, asked)).status).toBe(403);
  expect((await receiptOf(neighbor.tokens.admin, asked)).status).toBe(404);
  expect(await receiptOf(world.tokens.approver, asked)).toMatchObject({
    status: 200,
    entries: [],
    body: { isSealed: false },
  });
});

test.each([
  ["the card", `card = '{"tool":"mail.send","args":"other"}'`],
  [
    "who decided",
    "decided_by = (select id from users u where u.workspace_id = approvals.workspace_id and u.role = 'admin')",
  ],
  ["the answer", "answer = 'deny', status = 'denied'"],
  ["the arguments", "args_hash = 'another'"],
  ["the option", "selected_option = 'another'"],
  ["how long it holds", "scope = 'workspace'"],
  ["whose say it was", "decided_for = gen_random_uuid()"],
])("verifying the audit finds an approval of which %s was changed after it was sealed", async (_what, change) => {
  const world = await givenPeople(sql);
  const asked = await givenMail(sql, world);
  await sendDecision(server, world.tokens.approver, asked, { answer: "approve" });
  await sealAll();
  const [row] =
    await sql`select card, decided_by, answer, status, args_hash, selected_option, scope, decided_for from approvals where id = ${asked.approvalId}`;
  await sql.unsafe(`update approvals set ${change} where id = '${asked.approvalId}'`);
  const { breaks } = await verifyAudit(sql, key, []);
  expect(breaks).toMatchObject([{ what: "receipt", message: expect.stringContaining(asked.approvalId) }]);
  await sql`update approvals set ${sql({ ...row })} where id = ${asked.approvalId}`;
  expect((await verifyAudit(sql, key, [])).breaks).toEqual([]);
});

test("what the approvals of late asked of people is told in figures", async () => {
  const world = await givenPeople(sql);
  const asked = [
    await givenMail(sql, world),
    await givenMail(sql, world),
    await givenMail(sql, world),
    await givenMail(sql, world),
  ];
  for (const [i, one] of asked.entries()) {
    await sql`update approvals set requested_at = requested_at - interval '10 seconds' where id = ${one.approvalId}`;
    if (i < 3) await sendDecision(server, world.tokens.approver, one, { answer: i === 0 ? "deny" : "approve" });
  }
  const { body } = await send(server, world.tokens.viewer, "GET", "/v1/approvals/attention");
  expect(body).toMatchObject({
    days: 7,
    asked: 4,
    pending: 1,
    approved: 2,
    denied: 1,
    expired: 0,
    runs: 4,
    promptsPerRun: 1,
  });
  expect(body["approvalRate"]).toBeCloseTo(2 / 3);
  expect(Number(body["medianSeconds"])).toBeGreaterThan(9);
  const metrics = await send(server, undefined, "GET", "/metrics");
  expect(String(metrics.body["text"])).toMatch(/countersign_time_to_decide_seconds_count\{answer="approve"\} \d/);
  expect(String(metrics.body["text"])).toMatch(/countersign_prompts_per_run 1\b/);
});
