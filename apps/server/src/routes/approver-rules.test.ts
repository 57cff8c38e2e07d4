import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { expireWaits } from "@countersign/engine/commits/expire-waits.ts";
import { claimRun } from "@countersign/engine/testing/fixtures.ts";
import { moveDeadlines } from "@countersign/engine/testing/rows.ts";
import { afterAll, describe, expect, test } from "vitest";
import { type Asked, givenMail, sendDecision, setApprovers } from "../testing/asking.ts";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";
import { createToken } from "../tokens.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

const hour = 3_600_000;
const inAnHour = () => new Date(Date.now() + hour).toISOString();

async function read(token: string, { approvalId }: Asked) {
  return (await send(server, token, "GET", `/v1/approvals/${approvalId}`)).body;
}

test("a quorum of two: a vote is answered as one and shown on the card, the second decides, the first is told so", async () => {
  const world = await givenPeople(sql);
  await setApprovers(sql, world, { quorum: 2 });
  const asked = await givenMail(sql, world);
  const voted = await sendDecision(server, world.tokens.approver, asked, { answer: "approve" });
  expect(voted).toMatchObject({
    status: 200,
    body: {
      outcome: "voted",
      approval: {
        status: "pending",
        version: 1,
        quorum: 2,
        votes: [{ by: { name: "Abe Approver" }, answer: "approve" }],
      },
    },
  });
  expect(await sendDecision(server, world.tokens.approver, asked, { answer: "approve" })).toMatchObject({
    status: 200,
    body: { outcome: "repeated", approval: { status: "pending" } },
  });
  const queue = await send(server, world.tokens.viewer, "GET", "/v1/tasks");
  expect(queue.body).toMatchObject({ tasks: [{ status: "open", approval: { votes: [{ answer: "approve" }] } }] });
  expect(await sendDecision(server, world.tokens.otherApprover, asked, { answer: "approve" })).toMatchObject({
    status: 200,
    body: { outcome: "decided", approval: { status: "approved", version: 2, decidedBy: { name: "Ann Approver" } } },
  });
  expect(await sendDecision(server, world.tokens.approver, asked, { answer: "approve" })).toMatchObject({
    status: 200,
    body: { outcome: "repeated", approval: { status: "approved" } },
  });
  expect(await sendDecision(server, world.tokens.admin, asked, { answer: "deny" })).toMatchObject({
    status: 409,
    body: { code: "already_decided", settlement: { by: "Ann Approver", answer: "approve" } },
  });
});

test("an administrator may vote by tokens that they made for others, and the audit says who made what each vote came by", async () => {
  const world = await givenPeople(sql);
  await setApprovers(sql, world, { quorum: 2 });
  const asked = await givenMail(sql, world);
  for (const userId of [world.approver, world.otherApprover]) {
    const body = { userId, label: "for a friend", mayDecide: true };
    const { body: token } = await send(server, world.tokens.admin, "POST", "/v1/tokens", { body });
    expect(await sendDecision(server, token["token"] as string, asked, { answer: "approve" })).toMatchObject({
      status: 200,
    });
  }
  expect(await read(world.tokens.viewer, asked)).toMatchObject({ status: "approved" });
  const rows = await sql`
    select c.actor as maker, d.actor as voter
      from audit d
      join audit c on c.action = 'token.created' and d.details ->> 'way' like '%token:' || c.subject || ' %'
     where d.subject = ${asked.approvalId} and d.action like 'approval.%' order by d.id`;
  expect(rows).toEqual([
    { maker: `user:${world.admin}`, voter: `user:${world.approver}` },
    { maker: `user:${world.admin}`, voter: `user:${world.otherApprover}` },
  ]);
});

test("confirming the card votes too, and one dismissal settles it", async () => {
  const world = await givenPeople(sql);
  await setApprovers(sql, world, { quorum: 2 });
  const asked = await givenMail(sql, world);
  const { taskId } = (await read(world.tokens.viewer, asked)) as { taskId: string };
  const seen = { headers: { "if-match": '"1"' }, body: { argsDigest: asked.argsDigest } };
  const confirmed = await send(server, world.tokens.approver, "POST", `/v1/tasks/${taskId}/confirm`, seen);
  expect(confirmed).toMatchObject({
    status: 200,
    body: { status: "open", approval: { votes: [{ answer: "approve" }] } },
  });
  const dismissed = await send(server, world.tokens.otherApprover, "POST", `/v1/tasks/${taskId}/dismiss`, seen);
  expect(dismissed).toMatchObject({ status: 200, body: { status: "done", approval: { status: "denied" } } });
});

describe("a delegate", () => {
  test("decides on the say of who gave it, is named with them, and not after it was taken back", async () => {
    const world = await givenPeople(sql);
    await setApprovers(sql, world, { delegation: "allow" });
    const asked = await givenMail(sql, world);
    const given = await send(server, world.tokens.approver, "POST", "/v1/delegations", {
      body: { to: world.operator, until: inAnHour() },
    });
    expect(given).toMatchObject({
      status: 200,
      body: { from: { name: "Abe Approver" }, to: { name: "Olga Operator" }, approvalId: null, revokedAt: null },
    });
    for (const token of [world.tokens.approver, world.tokens.operator, world.tokens.admin]) {
      const listed = await send(server, token, "GET", "/v1/delegations");
      expect(listed.body).toMatchObject({ delegations: [{ id: given.body["id"] }] });
    }
    expect((await send(server, world.tokens.viewer, "GET", "/v1/delegations")).body).toEqual({
      delegations: [],
      nextCursor: null,
    });
    expect(await sendDecision(server, world.tokens.operator, asked, { answer: "approve" })).toMatchObject({
      status: 200,
      body: { approval: { decidedBy: { name: "Olga Operator" }, decidedFor: { name: "Abe Approver" } } },
    });

    const next = await givenMail(sql, world);
    const taken = await send(server, world.tokens.approver, "DELETE", `/v1/delegations/${String(given.body["id"])}`);
    expect(taken).toMatchObject({ status: 200, body: { revokedAt: expect.any(String) } });
    expect(await sendDecision(server, world.tokens.operator, next, { answer: "approve" })).toMatchObject({
      status: 403,
      body: { code: "not_an_approver" },
    });
  });

  test("needs a token that may decide, as everybody does, and no program decides in their stead without the role", async () => {
    const world = await givenPeople(sql);
    await setApprovers(sql, world, { delegation: "allow" });
    const asked = await givenMail(sql, world);
    const until = inAnHour();
    await send(server, world.tokens.approver, "POST", "/v1/delegations", { body: { to: world.operator, until } });
    const { workspaceId } = world;
    const weak = await createToken(sql, { workspaceId, userId: world.operator, label: "x", mayDecide: false });
    expect(await sendDecision(server, weak.token, asked, { answer: "approve" })).toMatchObject({
      status: 403,
      body: { code: "may_not_decide" },
    });
    const handed = await send(server, weak.token, "POST", "/v1/delegations", { body: { to: world.viewer, until } });
    expect(handed).toMatchObject({ status: 403, body: { code: "may_not_decide" } });
  });

  test("cannot be made where the definition forbids it, nor for what is decided, over or of another workspace", async () => {
    const world = await givenPeople(sql);
    const neighbor = await givenPeople(sql);
    const asked = await givenMail(sql, world);
    const body = { to: world.operator, until: inAnHour(), approvalId: asked.approvalId };
    const post = (token: string, over: object) =>
      send(server, token, "POST", "/v1/delegations", { body: { ...body, ...over } });
    expect(await post(world.tokens.approver, {})).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect(await post(neighbor.tokens.approver, { to: neighbor.viewer })).toMatchObject({ status: 404 });
    await setApprovers(sql, world, { delegation: "allow" });
    const loose = await givenMail(sql, world);
    const over = { approvalId: loose.approvalId };
    expect(await post(world.tokens.approver, { ...over, to: neighbor.viewer })).toMatchObject({ status: 404 });
    expect(await post(world.tokens.approver, { ...over, until: "2020-01-01T00:00:00Z" })).toMatchObject({
      status: 422,
    });
    expect(await post(world.tokens.approver, { ...over, to: world.approver })).toMatchObject({ status: 422 });
    expect(await post(world.tokens.operator, over)).toMatchObject({ status: 403, body: { code: "not_an_approver" } });
    await sendDecision(server, world.tokens.admin, loose, { answer: "deny" });
    expect(await post(world.tokens.approver, over)).toMatchObject({ status: 409, body: { code: "already_closed" } });
  });
});

test("AZ40: after a reminder an escalation lets further people decide, and the approval says that both came", async () => {
  const world = await givenPeople(sql);
  const escalation = { afterMs: 2_400_000, to: { roles: ["operator"] } };
  await setApprovers(sql, world, { remindBeforeMs: 1_800_000, escalation });
  const asked = await givenMail(sql, world, { expiresMs: hour });
  expect(await read(world.tokens.viewer, asked)).toMatchObject({ remindedAt: null, escalatedAt: null });
  const cameDue = async (column: string) => {
    await sql.unsafe(`update approvals set ${column} = clock_timestamp() where id = '${asked.approvalId}'`);
    await sql`update tool_calls set notice_at = clock_timestamp() where id = ${asked.callId}`;
    await sql`update runs set wake_at = clock_timestamp() where id = ${asked.runId}`;
    expect(await expireWaits(sql, 10)).toEqual([asked.runId]);
  };
  await cameDue("remind_at");
  expect(await read(world.tokens.viewer, asked)).toMatchObject({ remindedAt: expect.any(String), escalatedAt: null });
  const early = await sendDecision(server, world.tokens.operator, asked, { answer: "approve" });
  expect(early).toMatchObject({ status: 403, body: { code: "not_an_approver" } });
  await cameDue("escalate_at");
  expect(await read(world.tokens.viewer, asked)).toMatchObject({ escalatedAt: expect.any(String) });
  const log = await send(server, world.tokens.viewer, "GET", `/v1/runs/${asked.runId}/log`);
  const kinds = (log.body["lines"] as { kind: string }[]).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind.startsWith("approval."))).toEqual(["approval.reminded", "approval.escalated"]);
  expect(await sendDecision(server, world.tokens.operator, asked, { answer: "approve" })).toMatchObject({
    status: 200,
    body: { approval: { status: "approved", decidedBy: { name: "Olga Operator" } } },
  });
});

test("AZ40: an approver gives it more time, which is refused once it is over, and to whoever may not decide", async () => {
  const world = await givenPeople(sql);
  const asked = await givenMail(sql, world, { expiresMs: 60_000 });
  const path = `/v1/approvals/${asked.approvalId}/extension`;
  const until = inAnHour();
  expect(await send(server, world.tokens.operator, "POST", path, { body: { until } })).toMatchObject({
    status: 403,
    body: { code: "not_an_approver" },
  });
  expect(await send(server, world.tokens.approver, "POST", path, { body: { until } })).toMatchObject({
    status: 200,
    body: { status: "pending", version: 1, expiresAt: until },
  });
  const sooner = new Date(Date.now() + 60_000).toISOString();
  for (const wrong of [sooner, "2999-01-01T00:00:00Z"])
    expect(await send(server, world.tokens.approver, "POST", path, { body: { until: wrong } })).toMatchObject({
      status: 422,
      body: { code: "invalid_request" },
    });
  await moveDeadlines(sql, asked.runId, -1);
  const late = { body: { until: new Date(Date.now() + 2 * hour).toISOString() } };
  expect(await send(server, world.tokens.approver, "POST", path, late)).toMatchObject({
    status: 410,
    body: { code: "expired" },
  });
  const endless = await givenMail(sql, world);
  expect(
    await send(server, world.tokens.approver, "POST", `/v1/approvals/${endless.approvalId}/extension`, late),
  ).toMatchObject({
    status: 422,
    body: { code: "wrong_kind" },
  });
});

test("AZ57: under `forbid` who started the run is told that another has to decide; under `allow` a team of one goes on", async () => {
  const world = await givenPeople(sql);
  const own = await givenMail(sql, world, { startedBy: world.approver });
  expect((await sendDecision(server, world.tokens.approver, own, { answer: "approve" })).status).toBe(200);
  await setApprovers(sql, world, { selfApproval: "forbid" });
  const asked = await givenMail(sql, world, { startedBy: world.approver });
  const refused = await sendDecision(server, world.tokens.approver, asked, { answer: "approve" });
  expect(refused).toMatchObject({ status: 403, body: { code: "not_an_approver" } });
  expect(refused.body.detail).toContain("started this run");
  expect(refused.body.detail).toContain("Somebody else has to decide: whoever is approver, whoever is admin.");
  expect((await sendDecision(server, world.tokens.otherApprover, asked, { answer: "approve" })).status).toBe(200);
  const [audit] =
    await sql`select details ->> 'outcome' as outcome from audit where subject = ${asked.approvalId} order by id limit 1`;
  expect(audit).toEqual({ outcome: "forbidden" });
});

test("who is not among the approvers is told so, and which roles and people are", async () => {
  const world = await givenPeople(sql);
  await setApprovers(sql, world, { roles: ["admin"], users: [world.otherApprover], selfApproval: "forbid" });
  const asked = await givenMail(sql, world, { startedBy: world.operator });
  for (const [who, told] of [
    ["approver", "Abe Approver (approver) is not among them"],
    ["operator", "Olga Operator (operator) is not among them"],
  ] as const) {
    const refused = await sendDecision(server, world.tokens[who], asked, { answer: "approve" });
    expect(refused).toMatchObject({ status: 403, body: { code: "not_an_approver" } });
    expect(refused.body.detail).toContain(told);
    expect(refused.body.detail).toContain("Ask one of them: whoever is admin, Ann Approver.");
  }
});

test("an approver who lost the role between vote and decision counts no more, and the card still waits", async () => {
  const world = await givenPeople(sql);
  await setApprovers(sql, world, { quorum: 2 });
  const asked = await givenMail(sql, world);
  await sendDecision(server, world.tokens.approver, asked, { answer: "approve" });
  await send(server, world.tokens.admin, "PATCH", `/v1/users/${world.approver}`, { body: { role: "operator" } });
  expect(await sendDecision(server, world.tokens.otherApprover, asked, { answer: "approve" })).toMatchObject({
    body: { outcome: "voted" },
  });
  expect(await sendDecision(server, world.tokens.admin, asked, { answer: "approve" })).toMatchObject({
    body: { outcome: "decided" },
  });
  // And one who loses it before the call begins takes the approval along: nothing has begun.
  await send(server, world.tokens.admin, "PATCH", `/v1/users/${world.otherApprover}`, { body: { role: "operator" } });
  const { snapshot } = await claimRun(sql, asked.runId);
  expect(snapshot.calls).toMatchObject([{ status: "requested", attempt: 0 }]);
});

test("a definition names approvers who are somebody, and only a token that may decide says who decides", async () => {
  const world = await givenPeople(sql);
  const neighbor = await givenPeople(sql);
  const spec = { name: "other", model: "scripted", toolset: ["mail.send"] };
  const post = (token: string, approvers: object, over: object = {}) =>
    send(server, token, "POST", "/v1/definitions", { body: { spec: { ...spec, approvers, ...over } } });
  expect(await post(world.tokens.admin, { users: [neighbor.approver] })).toMatchObject({
    status: 422,
    body: { code: "invalid_definition", detail: expect.stringContaining(neighbor.approver) },
  });
  expect(await post(world.tokens.admin, { remindBeforeMs: 1_000 })).toMatchObject({
    status: 422,
    body: { code: "invalid_definition", detail: expect.stringContaining("approvalExpiresMs") },
  });
  const { workspaceId, admin } = world;
  const weak = await createToken(sql, { workspaceId, userId: admin, label: "x", mayDecide: false });
  expect(await post(weak.token, { roles: ["viewer"] })).toMatchObject({
    status: 403,
    body: { code: "may_not_decide" },
  });
  expect(await post(world.tokens.admin, { users: [world.viewer], quorum: 1 })).toMatchObject({ status: 200 });
});

describe("a program that acts for somebody with more than its own role", () => {
  async function givenProgram(role: string, actsFor: "approver" | "admin", approvers?: object) {
    const world = await givenPeople(sql);
    if (approvers !== undefined) await setApprovers(sql, world, approvers);
    const made = await send(server, world.tokens.admin, "POST", "/v1/users", {
      body: { name: "Sync", role, isService: true },
    });
    const token = await send(server, world.tokens.admin, "POST", "/v1/tokens", {
      body: { userId: made.body["id"], label: "x", mayDecide: true, actsFor: [world[actsFor]] },
    });
    const ask = async (method: string, path: string, body?: object, headers: object = {}) =>
      await send(server, String(token.body["token"]), method, path, {
        ...(body === undefined ? {} : { body }),
        headers: { "act-for": world[actsFor], ...headers },
      });
    return { world, ask };
  }
  const refused = { status: 403, body: { code: "not_an_approver" } };

  test("gives an approval no time and hands no say over without the role", async () => {
    const { world, ask } = await givenProgram("viewer", "approver", { delegation: "allow" });
    const { approvalId } = await givenMail(sql, world, { expiresMs: hour });
    const until = new Date(Date.now() + 2 * hour).toISOString();
    expect(await ask("POST", `/v1/approvals/${approvalId}/extension`, { until })).toMatchObject(refused);
    for (const over of [{}, { approvalId }])
      expect(await ask("POST", "/v1/delegations", { to: world.viewer, until, ...over })).toMatchObject(refused);
  });

  test("takes back no say that is others'", async () => {
    const { world, ask } = await givenProgram("viewer", "admin");
    const body = { to: world.viewer, until: inAnHour() };
    const made = await send(server, world.tokens.approver, "POST", "/v1/delegations", { body });
    const path = `/v1/delegations/${String(made.body["id"])}`;
    expect(await ask("DELETE", path)).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect(await send(server, world.tokens.admin, "DELETE", path)).toMatchObject({ status: 200 });
  });

  test("decides nothing that is for that role alone, leaves no rule for the workspace, and hands that say to nobody", async () => {
    const { world, ask } = await givenProgram("approver", "admin");
    const usual = await givenMail(sql, world);
    const decide = ({ approvalId, argsDigest }: Asked, over: object = {}) =>
      ask(
        "POST",
        `/v1/approvals/${approvalId}/decision`,
        { answer: "approve", argsDigest, ...over },
        { "if-match": '"1"' },
      );
    expect(await decide(usual, { remember: { scope: "workspace" } })).toMatchObject({ status: 403 });
    expect(await decide(usual)).toMatchObject({ status: 200 });
    const body = { to: world.viewer, until: inAnHour() };
    expect(await ask("POST", "/v1/delegations", body)).toMatchObject(refused);
    await setApprovers(sql, world, { roles: ["admin"] });
    const strict = await givenMail(sql, world);
    expect(await decide(strict)).toMatchObject(refused);
    const [kept] = await sql`select action from audit where subject = ${strict.approvalId}`;
    expect(kept).toEqual({ action: "approval.decision_refused" });
    await setApprovers(sql, world, { users: [world.admin] });
    expect(await decide(await givenMail(sql, world))).toMatchObject({ status: 200 });
  });
});
