import { createHash } from "node:crypto";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { markUnknown } from "@countersign/engine/commits/mark-unknown.ts";
import { recordTurn } from "@countersign/engine/commits/record-turn.ts";
import { aCall, aGatedCall, aTurn, claimRun, givenGatedRun, givenRun } from "@countersign/engine/testing/fixtures.ts";
import { moveDeadlines } from "@countersign/engine/testing/rows.ts";
import { v7 as newId } from "uuid";
import { afterAll, expect, test } from "vitest";
import { type Answer, givenPeople, send, startTestServer } from "../testing/harness.ts";
import { createToken } from "../tokens.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url);
const second = await startTestServer(url);
afterAll(async () => {
  await server.stop();
  await second.stop();
});

const seen = { headers: { "if-match": '"1"' } };

async function decide(
  token: string,
  approvalId: string,
  answer: string,
  over: { body?: object; headers?: Record<string, string>; at?: typeof server } = {},
): Promise<Answer> {
  return await send(over.at ?? server, token, "POST", `/v1/approvals/${approvalId}/decision`, {
    headers: over.headers ?? seen.headers,
    body: { answer, argsDigest: "hash-of-args", ...over.body },
  });
}

async function expectPending(approvalId: string): Promise<void> {
  const [row] = await sql`select status, version, decided_by from approvals where id = ${approvalId}`;
  expect(row).toEqual({ status: "pending", version: 1, decided_by: null });
}

async function readAudit(approvalId: string) {
  return await sql<{ actor: string; action: string; details: Record<string, unknown> }[]>`
    select actor, action, details from audit where subject = ${approvalId} order by id`;
}

test("an approver approves: the decision, its card and the run move together, and the worker is told", async () => {
  const world = await givenPeople(sql);
  const { runId, approvalId } = await givenGatedRun(sql, world);
  const rings = server.rings();
  const { status, body } = await decide(world.tokens.approver, approvalId, "approve", {
    body: { note: "fine by me" },
  });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    outcome: "decided",
    approval: {
      status: "approved",
      version: 2,
      answer: "approve",
      decidedBy: { id: world.approver, name: "Abe Approver" },
      note: "fine by me",
    },
  });
  expect(server.rings()).toBe(rings + 1);
  const task = (body["approval"] as { taskId: string }).taskId;
  const card = await send(server, world.tokens.viewer, "GET", `/v1/tasks/${task}`);
  expect(card.body).toMatchObject({
    status: "done",
    resolution: "approve",
    resolvedBy: { id: world.approver, name: "Abe Approver" },
    approval: { status: "approved", note: null },
  });
  const run = await send(server, world.tokens.viewer, "GET", `/v1/runs/${runId}`);
  expect(run.body).toMatchObject({ status: "running", waitsOn: null });
});

test("a denial reaches the model with its feedback and never with the note", async () => {
  const world = await givenPeople(sql);
  const { callId, approvalId } = await givenGatedRun(sql, world);
  const denied = await decide(world.tokens.approver, approvalId, "deny", {
    body: { feedback: "wrong address", note: "smells" },
  });
  expect(denied.body).toMatchObject({ approval: { status: "denied", note: "smells" } });
  const [call] = await sql`select status, result from tool_calls where id = ${callId}`;
  expect(call).toEqual({ status: "denied", result: '"denied by user: wrong address"' });
  const asViewer = await send(server, world.tokens.viewer, "GET", `/v1/approvals/${approvalId}`);
  expect(asViewer.body).toMatchObject({ note: null, feedback: "wrong address" });
});

test("a decision without what was seen is refused with 428, on anything else than what stands with 412", async () => {
  const world = await givenPeople(sql);
  const { approvalId } = await givenGatedRun(sql, world);
  const token = world.tokens.approver;
  for (const over of [
    { headers: {} },
    { body: { argsDigest: undefined } },
    { headers: {}, body: { argsDigest: undefined } },
  ]) {
    expect(await decide(token, approvalId, "approve", over)).toMatchObject({
      status: 428,
      body: { code: "precondition_required" },
    });
  }
  for (const over of [
    { headers: { "if-match": '"2"' } },
    { headers: { "if-match": '"999999999"' } },
    { body: { argsDigest: "hash-of-other-args" } },
  ]) {
    expect(await decide(token, approvalId, "approve", over)).toMatchObject({
      status: 412,
      body: { code: "stale", settlement: { status: "pending" } },
    });
  }
  for (const ifMatch of ["*", "1", 'W/"1"', '"1", "2"', '"9999999999"', '"-1"']) {
    expect(await decide(token, approvalId, "approve", { headers: { "if-match": ifMatch } })).toMatchObject({
      status: 422,
      body: { code: "invalid_request" },
    });
  }
  await expectPending(approvalId);
});

test("what GET shows, as ETag and digest, is what a decision is made on", async () => {
  const world = await givenPeople(sql);
  const { approvalId } = await givenGatedRun(sql, world);
  const read = await send(server, world.tokens.approver, "GET", `/v1/approvals/${approvalId}`);
  const etag = read.headers.get("etag") ?? "";
  expect(etag).toBe('"1"');
  const decided = await decide(world.tokens.approver, approvalId, "approve", {
    headers: { "if-match": etag },
    body: { argsDigest: read.body["argsDigest"] },
  });
  expect(decided.status).toBe(200);
});

test("who comes second gets 409 with who, what and when; the same person with the same answer gets the first result", async () => {
  const world = await givenPeople(sql);
  const { approvalId } = await givenGatedRun(sql, world);
  const first = await decide(world.tokens.approver, approvalId, "deny");
  const at = (first.body["approval"] as { decidedAt: string }).decidedAt;
  expect(await decide(world.tokens.approver, approvalId, "deny")).toMatchObject({
    status: 200,
    body: { outcome: "repeated", approval: { status: "denied", version: 2, decidedAt: at } },
  });
  const expected = {
    status: 409,
    body: {
      code: "already_decided",
      settlement: { status: "denied", answer: "deny", by: "Abe Approver", at },
    },
  };
  expect(await decide(world.tokens.approver, approvalId, "approve")).toMatchObject(expected);
  expect(await decide(world.tokens.otherApprover, approvalId, "deny")).toMatchObject(expected);
  expect(await decide(world.tokens.admin, approvalId, "approve")).toMatchObject(expected);
  expect((await readAudit(approvalId)).map((row) => row.action)).toEqual(["approval.decided"]);
});

test.each([
  ["DU19", 50, ["approve"]],
  ["AZ29", 50, ["approve", "deny"]],
  ["UI13", 20, ["approve", "deny"]],
] as const)(
  "%s: of %i decisions in parallel over two servers one wins; equal ones of its maker get its result, all others who, what and when",
  async (_id, count, answers) => {
    const world = await givenPeople(sql);
    const { runId, callId, approvalId } = await givenGatedRun(sql, world);
    const people = [world.tokens.approver, world.tokens.otherApprover, world.tokens.admin];
    const results = await Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const answer = answers[i % answers.length] ?? "approve";
        const token = people[i % people.length] ?? "";
        const got = await decide(token, approvalId, answer, {
          at: i % 4 < 2 ? server : second,
        });
        return { answer, token, ...got };
      }),
    );
    const winners = results.filter(({ body }) => body["outcome"] === "decided");
    expect(winners).toHaveLength(1);
    const winner = winners[0];
    const approval = winner?.body["approval"] as {
      answer: string;
      decidedAt: string;
      decidedBy: { name: string };
    };
    for (const result of results) {
      if (result === winner) continue;
      if (result.token === winner?.token && result.answer === winner.answer) {
        expect(result).toMatchObject({ status: 200, body: { outcome: "repeated", approval } });
      } else {
        expect(result).toMatchObject({
          status: 409,
          body: {
            code: "already_decided",
            settlement: {
              answer: approval.answer,
              by: approval.decidedBy.name,
              at: approval.decidedAt,
            },
          },
        });
      }
    }
    expect((await readAudit(approvalId)).map((row) => row.action)).toEqual(["approval.decided"]);
    const lines = await sql`select seq from run_log where run_id = ${runId} and kind = 'approval.decided'`;
    expect(lines).toHaveLength(1);
    const [call] = await sql`select status from tool_calls where id = ${callId}`;
    expect(call).toEqual({ status: approval.answer === "approve" ? "requested" : "denied" });
    const [card] = await sql`select version from approvals where id = ${approvalId}`;
    expect(card).toEqual({ version: 2 });
  },
);

test("AZ30, UI06: an approval decided after the server was started anew is accepted, and the run goes on", async () => {
  const world = await givenPeople(sql);
  const before = await startTestServer(url);
  const { runId, approvalId } = await givenGatedRun(sql, world);
  const listed = await send(before, world.tokens.approver, "GET", "/v1/approvals");
  expect(listed.body).toMatchObject({ approvals: [{ id: approvalId }] });
  await before.stop();
  await sql`update approvals set requested_at = requested_at - interval '5 minutes' where id = ${approvalId}`;
  const after = await startTestServer(url);
  try {
    expect(await decide(world.tokens.approver, approvalId, "approve", { at: after })).toMatchObject({
      status: 200,
      body: { outcome: "decided" },
    });
  } finally {
    await after.stop();
  }
  const [run] = await sql`select status, ready_at is not null as ready from runs where id = ${runId}`;
  expect(run).toEqual({ status: "running", ready: true });
});

test("AZ31: what one server listed is seen and decided through another", async () => {
  const world = await givenPeople(sql);
  const { approvalId } = await givenGatedRun(sql, world);
  for (const at of [server, second]) {
    const listed = await send(at, world.tokens.viewer, "GET", "/v1/approvals");
    expect(listed.body).toMatchObject({ approvals: [{ id: approvalId, status: "pending" }] });
  }
  expect((await decide(world.tokens.approver, approvalId, "deny", { at: second })).status).toBe(200);
  for (const at of [server, second]) {
    const listed = await send(at, world.tokens.viewer, "GET", "/v1/approvals");
    expect(listed.body).toMatchObject({ approvals: [] });
  }
});

test("AZ33: whoever decides the moment the log tells of the call is accepted, also with a megabyte of state", async () => {
  const world = await givenPeople(sql);
  const runId = await givenRun(sql, world, { input: JSON.stringify("x".repeat(1_000_000)) });
  const hold = await claimRun(sql, runId);
  const call = aGatedCall();
  if (call.next.kind !== "approval") throw new Error("a gated call waits for an approval");
  const { approvalId } = call.next;
  const told = send(server, world.tokens.approver, "GET", `/v1/runs/${runId}/log?after=1&wait=20`);
  await commitWithin(
    sql,
    recordTurn,
    aTurn(hold, {
      calls: [call],
      content: JSON.stringify([{ type: "text", text: "y".repeat(1_000_000) }]),
    }),
  );
  expect((await told).body).toMatchObject({ lines: [{ seq: 2 }], waitsOn: "approval" });
  expect(await decide(world.tokens.approver, approvalId, "approve", { at: second })).toMatchObject({
    status: 200,
    body: { outcome: "decided" },
  });
});

test("AZ39: from the deadline on a decision is refused with 410, before any sweeper; the card reads expired and leaves the list, and the audit keeps the attempt", async () => {
  const world = await givenPeople(sql);
  const { approvalId, runId } = await givenGatedRun(sql, world, { expiresMs: 3_600_000 });
  await moveDeadlines(sql, runId, -1_000);
  expect(await decide(world.tokens.approver, approvalId, "approve")).toMatchObject({
    status: 410,
    body: { code: "expired", settlement: { status: "expired", by: "system:timeout" } },
  });
  const read = await send(server, world.tokens.viewer, "GET", `/v1/approvals/${approvalId}`);
  expect(read.body).toMatchObject({
    status: "expired",
    decidedBy: { id: null, name: "system:timeout" },
    decidedAt: read.body["expiresAt"],
  });
  for (const path of ["/v1/approvals", "/v1/tasks"]) {
    const listed = await send(server, world.tokens.viewer, "GET", path);
    expect(listed.body["approvals"] ?? listed.body["tasks"]).toEqual([]);
  }
  const closed = await send(server, world.tokens.viewer, "GET", "/v1/tasks?status=expired");
  expect(closed.body).toMatchObject({ tasks: [{ approval: { id: approvalId, status: "expired" } }] });
  expect(await readAudit(approvalId)).toMatchObject([
    {
      actor: `user:${world.approver}`,
      action: "approval.decision_refused",
      details: { outcome: "expired", answer: "approve" },
    },
  ]);
  await expectPending(approvalId);
});

test("under a kill switch a decision is refused with 423, nothing expires, and it waits until the lift", async () => {
  const world = await givenPeople(sql);
  const { runId, approvalId } = await givenGatedRun(sql, world, { expiresMs: 3_600_000 });
  const scope = { scope: "run", id: runId };
  await send(server, world.tokens.admin, "POST", "/v1/kill", { body: { ...scope, reason: "drill" } });
  await sql`update approvals set expires_at = clock_timestamp() - interval '1 second' where id = ${approvalId}`;
  expect(await decide(world.tokens.approver, approvalId, "approve")).toMatchObject({
    status: 423,
    body: {
      code: "killed",
      detail: expect.stringMatching(
        /^A kill switch holds this run since \S+Z\. Ada Admin threw it: "drill"\. Nothing is decided; the approval waits/,
      ) as string,
    },
  });
  const heldBy = { scope: "run", by: { name: "Ada Admin" }, reason: "drill" };
  const held = await send(server, world.tokens.viewer, "GET", `/v1/approvals/${approvalId}`);
  expect(held.body).toMatchObject({ status: "pending", heldBy });
  const queue = await send(server, world.tokens.viewer, "GET", "/v1/tasks");
  expect(queue.body).toMatchObject({ tasks: [{ approval: { id: approvalId, heldBy } }] });
  await send(server, world.tokens.admin, "POST", "/v1/lift", { body: scope });
  const lifted = await send(server, world.tokens.viewer, "GET", `/v1/approvals/${approvalId}`);
  expect(lifted.body).toMatchObject({ status: "pending", heldBy: null });
  const tenMinutes = Date.now() + 600_000;
  expect(Date.parse(String(lifted.body["expiresAt"])), "the time that the lift gave").toBeGreaterThan(tenMinutes);
  expect((await decide(world.tokens.approver, approvalId, "approve")).status).toBe(200);
});

test("UI09: the approval of a run that was canceled is refused as closed, also by a server started later, and the badge falls", async () => {
  const world = await givenPeople(sql);
  const { runId, approvalId } = await givenGatedRun(sql, world);
  const badge = async () =>
    ((await send(server, world.tokens.viewer, "GET", "/v1/tasks")).body["tasks"] as unknown[]).length;
  expect(await badge()).toBe(1);
  await send(server, world.tokens.operator, "POST", `/v1/runs/${runId}/cancel`, {
    body: { reason: "changed my mind" },
  });
  const later = await startTestServer(url);
  try {
    const refused = await decide(world.tokens.approver, approvalId, "approve", { at: later });
    expect(refused).toMatchObject({
      status: 409,
      body: {
        code: "already_closed",
        settlement: { status: "canceled", answer: null, reason: "changed my mind" },
      },
    });
    expect(refused.body.detail).toMatch(/was canceled \(changed my mind\) at .*start another run/);
  } finally {
    await later.stop();
  }
  expect(await badge()).toBe(0);
});

test("AZ56: who decides comes from the token alone: a run's ids are no token, and no field of a body names an approver", async () => {
  const world = await givenPeople(sql);
  const { runId, callId, approvalId, hold } = await givenGatedRun(sql, world);
  for (const credential of [runId, callId, approvalId, hold.leaseId, world.approver, `run:${runId}`]) {
    expect(await decide(credential, approvalId, "approve")).toMatchObject({
      status: 401,
      body: { code: "unauthenticated" },
    });
  }
  for (const field of ["userId", "decidedBy", "approver", "actor", "workspaceId", "role"]) {
    expect(
      await decide(world.tokens.operator, approvalId, "approve", {
        body: { [field]: world.approver },
      }),
    ).toMatchObject({ status: 422, body: { code: "invalid_request" } });
  }
  const headers = { ...seen.headers, "x-user-id": world.approver, "x-forwarded-user": world.approver };
  expect(await decide(world.tokens.operator, approvalId, "approve", { headers })).toMatchObject({
    status: 403,
    body: { code: "not_an_approver" },
  });
  await expectPending(approvalId);
});

test("only approvers and administrators decide, with a token that may; every refusal is in the audit", async () => {
  const world = await givenPeople(sql);
  const { approvalId } = await givenGatedRun(sql, world);
  expect(await decide(world.tokens.viewer, approvalId, "deny")).toMatchObject({
    status: 403,
    body: { code: "not_an_approver" },
  });
  expect(await decide(world.tokens.operator, approvalId, "approve")).toMatchObject({
    status: 403,
    body: { code: "not_an_approver" },
  });
  const service = await createToken(sql, {
    workspaceId: world.workspaceId,
    userId: world.approver,
    label: "a service",
    mayDecide: false,
  });
  expect(await decide(service.token, approvalId, "approve")).toMatchObject({
    status: 403,
    body: { code: "may_not_decide" },
  });
  await expectPending(approvalId);
  expect(await readAudit(approvalId)).toMatchObject([
    { actor: `user:${world.viewer}`, details: { outcome: "forbidden" } },
    { actor: `user:${world.operator}`, details: { outcome: "forbidden" } },
    { actor: `user:${world.approver}`, details: { outcome: "may_not_decide", token: service.id } },
  ]);
  expect((await decide(world.tokens.admin, approvalId, "approve")).status).toBe(200);
});

test("AZ58: the audit of a decision says who, how they were authenticated and over which channel, when, on which arguments and policy, and what was shown", async () => {
  const world = await givenPeople(sql);
  const { approvalId } = await givenGatedRun(sql, world);
  await decide(world.tokens.approver, approvalId, "approve");
  const [approval] = await sql<{ card: string; decided_at: Date }[]>`
    select card, decided_at from approvals where id = ${approvalId}`;
  const rows = await sql<{ at: Date; actor: string; details: Record<string, unknown> }[]>`
    select at, actor, details from audit where subject = ${approvalId}`;
  expect(rows).toMatchObject([
    {
      actor: `user:${world.approver}`,
      details: {
        answer: "approve",
        way: expect.stringMatching(/^token:[0-9a-f-]{36} over http$/),
        outcome: "decided",
        argsHash: "hash-of-args",
        version: 1,
        cardHash: createHash("sha256")
          .update(approval?.card ?? "")
          .digest("hex"),
        policyVersions: "1.1.1.0",
      },
    },
  ]);
  const apart = Math.abs((rows[0]?.at.getTime() ?? 0) - (approval?.decided_at.getTime() ?? 0));
  expect(apart).toBeLessThan(1_000);
});

test("an unknown outcome is answered with done, retry or give_up, a permission with approve or deny", async () => {
  const world = await givenPeople(sql);
  const permission = await givenGatedRun(sql, world);
  expect(await decide(world.tokens.approver, permission.approvalId, "done")).toMatchObject({
    status: 422,
    body: { code: "wrong_answer" },
  });
  expect(await decide(world.tokens.approver, permission.approvalId, "maybe")).toMatchObject({
    status: 422,
    body: { code: "invalid_request" },
  });

  const sibling = aCall({ position: 1, tool: "kb.read" });
  const { hold, callId } = await givenGatedRun(sql, world, { siblings: [sibling] });
  await sql`update tool_calls set status = 'executing', epoch = ${hold.epoch}, has_effect_claim = true, started_at = clock_timestamp()
             where id = ${sibling.id}`;
  const approvalId = newId();
  await commitWithin(sql, markUnknown, {
    ...hold,
    callId: sibling.id,
    result: '"no answer"',
    approvalId,
    card: { taskId: newId(), title: "Did it happen?", body: "{}" },
  });
  expect(callId).not.toBe(sibling.id);
  expect(await decide(world.tokens.approver, approvalId, "approve")).toMatchObject({
    status: 422,
    body: { code: "wrong_answer" },
  });
  expect(await decide(world.tokens.approver, approvalId, "done", { body: { feedback: "I saw it" } })).toMatchObject({
    status: 200,
    body: { approval: { kind: "outcome", status: "approved" } },
  });
  const [call] = await sql`select status, result from tool_calls where id = ${sibling.id}`;
  expect(call).toEqual({ status: "done", result: '"I saw it"' });
});

test("the list shows the waiting approvals of the workspace, oldest first, page by page", async () => {
  const world = await givenPeople(sql);
  const ids: string[] = [];
  for (let i = 0; i < 3; i += 1) ids.push((await givenGatedRun(sql, world)).approvalId);
  const first = await send(server, world.tokens.viewer, "GET", "/v1/approvals?limit=2");
  const next = await send(
    server,
    world.tokens.viewer,
    "GET",
    `/v1/approvals?limit=2&cursor=${String(first.body["nextCursor"])}`,
  );
  const idsOf = (answer: Answer) => (answer.body["approvals"] as { id: string }[]).map(({ id }) => id);
  expect([...idsOf(first), ...idsOf(next)]).toEqual(ids);
  await decide(world.tokens.approver, ids[1] ?? "", "deny");
  const denied = await send(server, world.tokens.viewer, "GET", "/v1/approvals?status=denied");
  expect(idsOf(denied)).toEqual([ids[1]]);
});

test("decisions on many approvals at once over two servers all take effect, each once", async () => {
  const world = await givenPeople(sql);
  const ids: string[] = [];
  for (let i = 0; i < 20; i += 1) ids.push((await givenGatedRun(sql, world)).approvalId);
  const results = await Promise.all(
    ids.map((id, i) =>
      decide(world.tokens.approver, id, i % 2 === 0 ? "approve" : "deny", {
        at: i % 3 === 0 ? server : second,
      }),
    ),
  );
  for (const [i, { body }] of results.entries()) {
    expect(body).toMatchObject({
      outcome: "decided",
      approval: { id: ids[i], status: i % 2 === 0 ? "approved" : "denied" },
    });
  }
  const audit = await sql`
    select 1 from audit where workspace_id = ${world.workspaceId} and action = 'approval.decided'`;
  expect(audit).toHaveLength(20);
});

test("of a decision and a cancellation at once each is told the truth: decided before, or closed with the run", async () => {
  const world = await givenPeople(sql);
  for (let round = 0; round < 8; round += 1) {
    const { runId, approvalId } = await givenGatedRun(sql, world);
    const [decided, canceled] = await Promise.all([
      decide(world.tokens.approver, approvalId, "approve"),
      send(second, world.tokens.operator, "POST", `/v1/runs/${runId}/cancel`, { body: {} }),
    ]);
    expect(canceled).toMatchObject({ status: 200, body: { status: "canceled" } });
    const read = await send(server, world.tokens.viewer, "GET", `/v1/approvals/${approvalId}`);
    if (decided.status === 200) {
      expect(read.body).toMatchObject({ status: "approved" });
    } else {
      expect(decided).toMatchObject({ status: 409, body: { code: "already_closed" } });
      expect(read.body).toMatchObject({ status: "canceled" });
    }
    const [call] = await sql`select status from tool_calls where run_id = ${runId}`;
    expect(call).toEqual({ status: "canceled" });
  }
});
