import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { givenExecutingCall, givenRun } from "@countersign/engine/testing/fixtures.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

test("a run's grants say what it may acquire, what it holds, and what was taken back by whom", async () => {
  const world = await givenPeople(sql);
  const { tokens } = world;
  const { runId } = await givenExecutingCall(sql, world, {
    tool: "mail.send",
    effect: "once",
    requires: ["mail.send"],
  });
  const path = `/v1/runs/${runId}/grants`;
  const before = await send(server, tokens.viewer, "GET", path);
  expect(before.body).toMatchObject({
    runId,
    grants: [
      {
        capability: "mail.send",
        state: "granted",
        acquiredAt: expect.any(String) as string,
        heldUntil: expect.any(String) as string,
        revokedAt: null,
      },
    ],
  });
  const revoke = (token: string, capability = "mail.send") =>
    send(server, token, "POST", `${path}/${capability}/revoke`);
  expect(await revoke(tokens.operator)).toMatchObject({ status: 403 });
  expect(await revoke(tokens.admin)).toMatchObject({ status: 200, body: { outcome: "revoked", runs: 1 } });
  expect(await revoke(tokens.admin)).toMatchObject({ status: 200, body: { outcome: "already", runs: 0 } });
  expect(await revoke(tokens.admin, "web.fetch")).toMatchObject({ status: 404 });
  const after = await send(server, tokens.viewer, "GET", path);
  expect(after.body).toMatchObject({
    grants: [{ capability: "mail.send", state: "revoked", heldUntil: null, revokedBy: { name: "Ada Admin" } }],
  });
  const [audit] = await sql`select actor, subject from audit where action = 'grant.revoked' and run_id = ${runId}`;
  expect(audit).toEqual({ actor: `user:${world.admin}`, subject: "mail.send" });
});

test("nothing is taken back from a run that has ended", async () => {
  const world = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  await send(server, world.tokens.operator, "POST", `/v1/runs/${runId}/cancel`);
  expect(await send(server, world.tokens.admin, "POST", `/v1/runs/${runId}/grants/mail.send/revoke`)).toMatchObject({
    status: 409,
    body: { code: "run_ended" },
  });
});
