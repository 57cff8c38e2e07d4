import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { afterAll, expect, test } from "vitest";
import { agentSpec, givenPeople, send, startTestServer } from "../testing/harness.ts";
import { createToken } from "../tokens.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url);
const second = await startTestServer(url);
afterAll(() => Promise.all([server.stop(), second.stop()]));

const post = (token: string, path: string, spec: object, headers: Record<string, string> = {}, at = server) =>
  send(at, token, "POST", path, { body: { spec }, headers });

async function countVersions(id: string) {
  const [row] = await sql`
    select d.current_version as current, p.version::int as policy,
           (select count(*)::int from definition_versions v where v.definition_id = d.id) as versions
      from definitions d join policies p on p.scope_id = d.id where d.id = ${id}`;
  return row;
}

test("a definition is made in its first version, with a policy of its own, once per name, and can be run at once", async () => {
  const { tokens } = await givenPeople(sql);
  const spec = { name: "mailer", model: "scripted", toolset: ["mail.send"] };
  const dry = await post(tokens.admin, "/v1/definitions?dryRun=true", spec);
  expect(dry).toMatchObject({ status: 200, body: { outcome: "created", isDryRun: true, id: null, version: 1 } });
  const made = await post(tokens.admin, "/v1/definitions", spec);
  expect(made).toMatchObject({
    status: 200,
    body: { outcome: "created", isDryRun: false, version: 1, capabilities: { gained: ["mail.send"], lost: [] } },
  });
  expect(await countVersions(String(made.body["id"]))).toEqual({ current: 1, policy: 1, versions: 1 });
  for (const path of ["/v1/definitions", "/v1/definitions?dryRun=true"]) {
    expect(await post(tokens.admin, path, spec)).toMatchObject({ status: 409, body: { code: "name_taken" } });
  }
  const body = { definition: "mailer", input: "x" };
  expect(await send(server, tokens.operator, "POST", "/v1/runs", { body })).toMatchObject({ status: 200 });
});

test("what is no definition is refused with everything that is wrong, and nothing is stored", async () => {
  const { tokens, definitionId, workspaceId } = await givenPeople(sql);
  const bad = { ...agentSpec, toolset: ["kb.read", "no.such"], caps: ["no.cap"] };
  for (const path of ["/v1/definitions", `/v1/definitions/${definitionId}/versions`]) {
    const answer = await post(tokens.admin, path, bad, { "if-match": '"1"' });
    expect(answer).toMatchObject({ status: 422, body: { code: "invalid_definition" } });
    expect(answer.body.detail).toContain("no.such");
    expect(answer.body.detail).toContain("no.cap");
    const unknown = await post(tokens.admin, path, { ...agentSpec, colour: "red" }, { "if-match": '"1"' });
    expect(unknown.body.detail).toContain("colour");
    for (const name of ["", "a\0b", "\ud800", "two\nlines", "x".repeat(101)]) {
      expect(await post(tokens.admin, path, { ...agentSpec, name }, { "if-match": '"1"' })).toMatchObject({
        status: 422,
      });
    }
    for (const [field, part] of Object.entries({
      instructions: { instructions: "a\0b" },
      "companions.a": { companions: { a: "\ud800" } },
      approvalExpiresMs: { approvalExpiresMs: Number.MAX_SAFE_INTEGER },
    })) {
      const answer = await post(tokens.admin, path, { ...agentSpec, ...part }, { "if-match": '"1"' });
      expect(answer).toMatchObject({ status: 422, body: { code: "invalid_definition" } });
      expect(answer.body.detail).toContain(field);
    }
  }
  expect(await sql`select from definitions where workspace_id = ${workspaceId}`).toHaveLength(1);
  expect(await countVersions(definitionId)).toEqual({ current: 1, policy: 1, versions: 1 });
});

test("a new version says on which it was made, shows the difference first, is never edited in place, and moves the policy", async () => {
  const { tokens, definitionId, admin, workspaceId } = await givenPeople(sql);
  const path = `/v1/definitions/${definitionId}/versions`;
  const spec = { ...agentSpec, instructions: "Be brief.", limits: { turns: 9 }, toolset: ["kb.read"] };

  const dry = await post(tokens.admin, `${path}?dryRun=true`, spec);
  expect(dry.body).toMatchObject({
    outcome: "changed",
    isDryRun: true,
    version: 2,
    changes: [
      { path: "instructions", before: "", after: "Be brief." },
      { path: "limits.turns", before: 200, after: 9 },
      { path: "toolset", before: agentSpec.toolset, after: ["kb.read"] },
    ],
    capabilities: { gained: [], lost: ["mail.send"] },
  });
  expect(await countVersions(definitionId)).toEqual({ current: 1, policy: 1, versions: 1 });

  expect(await post(tokens.admin, path, spec)).toMatchObject({ status: 428, body: { code: "precondition_required" } });
  expect(await post(tokens.admin, path, spec, { "if-match": '"2"' })).toMatchObject({
    status: 412,
    body: { code: "stale" },
  });
  expect(await post(tokens.admin, path, spec, { "if-match": "1" })).toMatchObject({ status: 422 });
  const applied = await post(tokens.admin, path, spec, { "if-match": '"1"' });
  expect(applied).toMatchObject({ status: 200, body: { outcome: "changed", isDryRun: false, version: 2 } });
  expect(await countVersions(definitionId)).toEqual({ current: 2, policy: 2, versions: 2 });

  const same = await post(tokens.admin, path, spec, { "if-match": '"2"' });
  expect(same.body).toMatchObject({ outcome: "unchanged", version: 2, changes: [] });
  expect(await countVersions(definitionId)).toEqual({ current: 2, policy: 2, versions: 2 });
  expect(await post(tokens.admin, path, { ...spec, name: "other" }, { "if-match": '"2"' })).toMatchObject({
    status: 422,
  });

  const got = await send(server, tokens.viewer, "GET", `/v1/definitions/${definitionId}`);
  expect(got.headers.get("etag")).toBe('"2"');
  expect(got.body).toMatchObject({ version: 2, spec: { instructions: "Be brief." }, createdBy: { id: admin } });
  const { body } = await send(server, tokens.viewer, "GET", path);
  expect(body).toMatchObject({
    versions: [
      { version: 2, createdBy: { id: admin } },
      { version: 1, spec: agentSpec, createdBy: null },
    ],
  });
  const audit =
    await sql`select action, subject, details->>'version' as v from audit where workspace_id = ${workspaceId}`;
  expect(audit).toEqual([{ action: "definition.changed", subject: definitionId, v: "2" }]);
});

test("of two versions made on the same one at once, over two servers, one is made and the other is told", async () => {
  const { tokens, definitionId } = await givenPeople(sql);
  const path = `/v1/definitions/${definitionId}/versions`;
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      post(
        tokens.admin,
        path,
        { ...agentSpec, description: `number ${i}` },
        { "if-match": '"1"' },
        i % 2 ? server : second,
      ),
    ),
  );
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    200,
    ...Array.from({ length: 9 }, () => 412),
  ]);
  expect(await countVersions(definitionId)).toEqual({ current: 2, policy: 2, versions: 2 });
});

test("of definitions of one name made at once one is made; the list goes on page by page, by name, and finds one by it", async () => {
  const { tokens } = await givenPeople(sql);
  const made = await Promise.all(
    Array.from({ length: 6 }, (_, i) =>
      post(tokens.admin, "/v1/definitions", { ...agentSpec, name: "zed" }, {}, i % 2 ? server : second),
    ),
  );
  expect(made.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409, 409, 409]);
  for (const name of ["mike", "bravo", "Über", "kilo"])
    await post(tokens.admin, "/v1/definitions", { ...agentSpec, name });
  const names: string[] = [];
  let path = "/v1/definitions?limit=2";
  for (;;) {
    const { body } = await send(server, tokens.viewer, "GET", path);
    names.push(...(body["definitions"] as { name: string }[]).map(({ name }) => name));
    if (body["nextCursor"] === null) break;
    path = `/v1/definitions?limit=2&cursor=${body["nextCursor"] as string}`;
  }
  expect(names.toSorted()).toEqual(["agent", "bravo", "kilo", "mike", "zed", "Über"].toSorted());
  const { body } = await send(server, tokens.viewer, "GET", "/v1/definitions?name=kilo");
  expect(body).toMatchObject({ definitions: [{ name: "kilo" }], nextCursor: null });
});

test("a token without the right to decide cannot make a definition whose calls no longer wait for a person", async () => {
  const { tokens, workspaceId, admin } = await givenPeople(sql);
  const { token } = await createToken(sql, { workspaceId, userId: admin, label: "no decisions", mayDecide: false });
  const loose = { name: "loose", model: "scripted", toolset: ["mail.send"], approvalPolicy: "none" };
  const refused = await post(token, "/v1/definitions", loose);
  expect(refused).toMatchObject({ status: 403, body: { code: "may_not_decide" } });
  const usual = await post(token, "/v1/definitions", { ...loose, approvalPolicy: "outbound" });
  expect(usual).toMatchObject({ status: 200, body: { version: 1 } });
  const path = `/v1/definitions/${String(usual.body["id"])}/versions`;
  expect(await post(token, path, loose, { "if-match": '"1"' })).toMatchObject({ status: 403 });
  expect(await post(tokens.admin, path, loose, { "if-match": '"1"' })).toMatchObject({
    status: 200,
    body: { version: 2 },
  });
});

test("a token without the right to decide cannot take away what a definition says about who and what is asked", async () => {
  const { tokens, workspaceId, admin } = await givenPeople(sql);
  const { token } = await createToken(sql, { workspaceId, userId: admin, label: "no decisions", mayDecide: false });
  const plain = { model: "scripted", toolset: ["mail.send"] };
  for (const [name, said] of Object.entries({
    approvers: { approvers: { quorum: 2 } },
    policy: { approvalPolicy: "all" },
    dial: { dial: "none" },
  })) {
    const made = await post(tokens.admin, "/v1/definitions", { ...plain, ...said, name });
    const path = `/v1/definitions/${String(made.body["id"])}/versions`;
    expect(await post(token, path, { ...plain, name }, { "if-match": '"1"' })).toMatchObject({
      status: 403,
      body: { code: "may_not_decide" },
    });
    expect(await post(tokens.admin, path, { ...plain, name }, { "if-match": '"1"' })).toMatchObject({ status: 200 });
  }
  const bound = { ...plain, name: "bound", companions: { "analyze:image": "small" } };
  expect(await post(token, "/v1/definitions", bound)).toMatchObject({ status: 403, body: { code: "may_not_decide" } });
  const tighter = await post(token, "/v1/definitions", { ...plain, name: "tighter" });
  const path = `/v1/definitions/${String(tighter.body["id"])}/versions`;
  const strict = { ...plain, name: "tighter", approvalPolicy: "all", dial: "none" };
  expect(await post(token, path, strict, { "if-match": '"1"' })).toMatchObject({ status: 200 });
});

test("a definition that asks for more approvers than there are is taken, and says so before and after", async () => {
  const { tokens } = await givenPeople(sql);
  const plain = { name: "strict", model: "scripted", toolset: ["mail.send"] };
  const warned = [expect.stringMatching(/^4 people have to approve, and in this workspace only 3 could: /)];
  const many = { ...plain, approvers: { quorum: 4 } };
  const planned = await post(tokens.admin, "/v1/definitions?dryRun=true", many);
  expect(planned).toMatchObject({ status: 200, body: { outcome: "created", warnings: warned } });
  const made = await post(tokens.admin, "/v1/definitions", many);
  expect(made).toMatchObject({ status: 200, body: { outcome: "created", warnings: warned } });
  const path = `/v1/definitions/${String(made.body["id"])}/versions`;
  const forbid = { ...plain, approvers: { quorum: 3, selfApproval: "forbid" } };
  const next = await post(tokens.admin, path, forbid, { "if-match": '"1"' });
  expect(next.body["warnings"]).toEqual([expect.stringContaining("whoever starts a run may not")]);
  const fine = await post(tokens.admin, path, { ...plain, approvers: { quorum: 3 } }, { "if-match": '"2"' });
  expect(fine.body["warnings"]).toEqual([]);
});
