import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { givenGatedRun } from "@countersign/engine/testing/fixtures.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

async function givenHistory() {
  const world = await givenPeople(sql);
  const { tokens } = world;
  const { runId, approvalId } = await givenGatedRun(sql, world);
  await send(server, tokens.approver, "POST", `/v1/approvals/${approvalId}/decision`, {
    body: { answer: "deny", argsDigest: "hash-of-args" },
    headers: { "if-match": '"1"' },
  });
  for (const name of ["one", "two", "three"]) {
    await send(server, tokens.admin, "POST", "/v1/users", { body: { name, role: "viewer" } });
  }
  return { ...world, runId, approvalId };
}

const actionsOf = ({ body }: { body: Record<string, unknown> }): string[] =>
  (body["rows"] as { action: string }[]).map(({ action }) => action);

test("the audit is newest first, page by page, and can be narrowed by who, what, when, run and subject", async () => {
  const { tokens, admin, runId, approvalId } = await givenHistory();
  await givenHistory();
  const get = (query: string) => send(server, tokens.admin, "GET", `/v1/audit?${query}`);
  const all = await get("");
  expect(actionsOf(all)).toEqual(["user.created", "user.created", "user.created", "approval.decided"]);
  expect((all.body["rows"] as object[])[0]).toMatchObject({
    actor: `user:${admin}`,
    actorName: "Ada Admin",
    seq: null,
    details: { role: "viewer" },
  });
  const ids: string[] = [];
  let query = "limit=3";
  for (;;) {
    const { body } = await get(query);
    ids.push(...(body["rows"] as { id: string }[]).map(({ id }) => id));
    if (body["nextCursor"] === null) break;
    query = `limit=3&cursor=${body["nextCursor"] as string}`;
  }
  expect(ids).toEqual((all.body["rows"] as { id: string }[]).map(({ id }) => id));
  expect(actionsOf(await get(`run=${runId}`))).toEqual(["approval.decided"]);
  expect(actionsOf(await get(`subject=${approvalId}`))).toEqual(["approval.decided"]);
  expect(actionsOf(await get("action=user.created"))).toHaveLength(3);
  expect(actionsOf(await get(`actor=user:${admin}&until=${new Date(Date.now() + 60_000).toISOString()}`))).toHaveLength(
    3,
  );
  expect(actionsOf(await get("until=2020-01-01T00:00:00Z"))).toEqual([]);
  expect(await get("since=yesterday")).toMatchObject({ status: 422 });
});

test("the export is the whole audit of the workspace and of no other, a row a line; a reader who leaves holds nothing", async () => {
  const { tokens, workspaceId } = await givenHistory();
  await givenHistory();
  await sql`insert into audit (workspace_id, actor, action) select ${workspaceId}, 'system', 'test.made' from generate_series(1, 2500)`;
  const headers = { authorization: `Bearer ${tokens.admin}` };
  const response = await fetch(`${server.url}/v1/audit/export`, { headers });
  expect(response.headers.get("content-type")).toBe("application/x-ndjson");
  const rows = (await response.text())
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { workspaceId: string });
  expect(rows).toHaveLength(2504);
  expect(new Set(rows.map((row) => row.workspaceId))).toEqual(new Set([workspaceId]));

  const left = new AbortController();
  const leaving = await fetch(`${server.url}/v1/audit/export`, { headers, signal: left.signal });
  await leaving.body?.getReader().read();
  left.abort();
  expect(await send(server, tokens.admin, "GET", "/v1/audit?limit=1")).toMatchObject({ status: 200 });
});

test("a check is asked for by an administrator, is one for all who ask while it lasts, and shows what a worker found", async () => {
  const { tokens, admin } = await givenPeople(sql);
  const others = await givenPeople(sql);
  const ask = () => send(server, tokens.admin, "POST", "/v1/audit/checks");
  const [one, two] = await Promise.all([ask(), ask()]);
  expect(one).toMatchObject({
    status: 200,
    body: { askedBy: { id: admin, name: "Ada Admin" }, takenAt: null, rowsRead: 0, finishedAt: null, report: null },
  });
  expect(two.body["id"]).toBe(one.body["id"]);
  const report = { sealed: 2, unsealed: 0, end: null, keptHead: null, badLines: 0, broken: 1 };
  const breaks = [{ what: "changed", message: "row 2 is not what was sealed", seq: 2 }];
  await sql`update audit_checks set finished_at = clock_timestamp(), report = ${JSON.stringify({ ...report, breaks })}::text::json
             where id = ${one.body["id"] as string}`;
  const after = await ask();
  expect(after.body["id"]).not.toBe(one.body["id"]);
  const list = (token: string, query = "") => send(server, token, "GET", `/v1/audit/checks?limit=1${query}`);
  const newest = await list(tokens.admin);
  expect(newest.body["checks"]).toEqual([after.body]);
  const older = await list(tokens.admin, `&cursor=${newest.body["nextCursor"] as string}`);
  expect(older.body).toMatchObject({
    checks: [{ id: one.body["id"], report: { ...report, breaks } }],
    nextCursor: null,
  });
  expect((await list(others.tokens.admin)).body["checks"]).toEqual([]);
});

test("a row whose actor was tampered with is shown as it stands", async () => {
  const { tokens, workspaceId } = await givenHistory();
  await sql`update audit set actor = 'user:nobody' where workspace_id = ${workspaceId} and action = 'user.created'`;
  const { status, body } = await send(server, tokens.admin, "GET", "/v1/audit?limit=1");
  expect({ status, rows: body["rows"] }).toMatchObject({
    status: 200,
    rows: [{ actor: "user:nobody", actorName: null }],
  });
});
