import { Writable } from "node:stream";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { givenGatedRun, givenQuestionRun, givenRun } from "@countersign/engine/testing/fixtures.ts";
import { findViolations } from "@countersign/engine/testing/invariants.ts";
import fc from "fast-check";
import { pino } from "pino";
import { afterAll, expect, test } from "vitest";
import { problems } from "./problem.ts";
import { givenPeople, send, startTestServer } from "./testing/harness.ts";
import { type Ids, type OddRequest, oddRequests } from "./testing/odd-requests.ts";
import { fillPath, goodBody, listOperations, listSchemas } from "./testing/operations.ts";
import { unholdableBodies, unholdableQueries } from "./testing/unholdable-requests.ts";
import { createToken } from "./tokens.ts";

const { sql, url } = await engineDatabase();
const failures: string[] = [];
const log = pino(
  { level: "error" },
  new Writable({
    write(chunk: Buffer, _encoding, done) {
      failures.push(chunk.toString());
      done();
    },
  }),
);
const server = await startTestServer(url, { log });
afterAll(() => server.stop());

const forHowLongMs = 9_000;

/** What is half of something: empty, whatever was sent. */
const halves = `
  select 'definition without its version or policy' as what, d.id::text as id from definitions d
   where not exists (select from definition_versions v where v.definition_id = d.id and v.version = d.current_version)
      or not exists (select from policies p where p.scope_id = d.id)
  union all
  select 'version beyond the current one', v.definition_id::text from definition_versions v
    join definitions d on d.id = v.definition_id where v.version > d.current_version
  union all
  select 'secret without its version', s.id::text from secrets s
   where not exists (select from secret_versions v where v.secret_id = s.id and v.version = s.current_version)
  union all
  select 'secret version without its audit row', v.secret_id::text from secret_versions v join secrets s on s.id = v.secret_id and s.name not like 'webhook.%'
   where not exists (select from audit a where a.action = 'secret.set' and a.subject = s.name and (a.details->>'version')::int = v.version)
  union all
  select 'token without its audit row', t.id::text from tokens t
   where t.created_by is not null and not exists (select from audit a where a.action = 'token.created' and a.subject = t.id::text)
  union all
  select 'audited thing that is not there', a.subject from audit a
   where (a.action = 'token.created' and not exists (select from tokens t where t.id::text = a.subject))
      or (a.action = 'user.created' and not exists (select from users u where u.id::text = a.subject))
      or (a.action = 'definition.created' and not exists (select from definitions d where d.id::text = a.subject))
  union all
  select 'run without its first line', r.id::text from runs r
   where not exists (select from run_log l where l.run_id = r.id and l.seq = 1)
  union all
  select 'idempotency key whose answer is no JSON', k.key from idempotency_keys k where not k.answer is json`;

/** A workspace with some of everything, and tokens for those who send. */
async function givenObjects() {
  const world = await givenPeople(sql);
  const gated = [await givenGatedRun(sql, world), await givenGatedRun(sql, world), await givenGatedRun(sql, world)];
  const asking = [await givenQuestionRun(sql, world), await givenQuestionRun(sql, world)];
  const runs = [...gated, ...asking].map(({ runId }) => runId);
  for (let n = 0; n < 6; n += 1) runs.push(await givenRun(sql, world, { startedBy: world.admin }));
  const { admin } = world.tokens;
  for (const title of ["a", "b", "c"]) await send(server, admin, "POST", "/v1/tasks", { body: { title } });
  const { body } = await send(server, admin, "POST", "/v1/users", {
    body: { name: "Sync", role: "admin", isService: true },
  });
  const { token } = await createToken(sql, {
    workspaceId: world.workspaceId,
    userId: String(body["id"]),
    label: "sync",
    mayDecide: false,
    actsFor: [world.operator, world.approver],
  });
  for (const title of ["One", "Two", "Three", "Four"]) {
    await send(server, admin, "POST", "/v1/pages", { body: { title, okf: "# H\n\n- a [[One]]\n  - b\n" } });
  }
  const idsOf = async (table: string) =>
    (await sql.unsafe<{ id: string }[]>(`select id from ${table} where workspace_id = '${world.workspaceId}'`)).map(
      ({ id }) => id,
    );
  const ids: Ids = {
    runs,
    approvals: gated.map(({ approvalId }) => approvalId),
    tasks: await idsOf("tasks"),
    definitions: [world.definitionId],
    users: await idsOf("users"),
    tokens: await idsOf("tokens"),
    pages: await idsOf("pages"),
    nodes: await idsOf("nodes"),
    commands: await idsOf("commands"),
  };
  const { approver, operator } = world.tokens;
  return { world, ids, senders: [admin, admin, admin, admin, approver, operator, token] };
}

test("whatever is sent to any route, nothing fails in the server and nothing is stored by halves", async () => {
  const operations = await listOperations(server);
  const { world, ids, senders } = await givenObjects();
  const statuses = new Map<number, number>();
  const reached = new Set<string>();
  let asked = 0;

  /** What the requests may have taken from those who send them. */
  async function restore(): Promise<void> {
    await sql`update users set disabled_at = null where workspace_id = ${world.workspaceId} and disabled_at is not null`;
    await sql`update users set role = 'admin' where id = ${world.admin} and role <> 'admin'`;
    await sql`update tokens set revoked_at = null where workspace_id = ${world.workspaceId} and revoked_at is not null`;
    await sql`update policies set killed_at = null, killed_by = null, kill_reason = null where killed_at is not null`;
  }

  async function check({ operation, path, headers, body, who }: OddRequest): Promise<void> {
    const { method } = operation;
    const answer = await fetch(`${server.url}${path}`, {
      method,
      headers: { ...headers, authorization: `Bearer ${senders[who] ?? "nobody"}` },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(10_000),
    });
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    if (answer.ok) reached.add(`${method} ${operation.path}`);
    if (answer.headers.get("content-type")?.startsWith("text/event-stream") === true) {
      await answer.body?.cancel();
      return;
    }
    const text = await answer.text();
    expect({ status: answer.status, text, failures }).toMatchObject({ failures: [] });
    expect(answer.status).toBeLessThan(500);
    if (answer.ok) return;
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    const { code, status, detail } = JSON.parse(text) as {
      code: keyof typeof problems;
      status: number;
      detail: string;
    };
    expect({ code, listed: problems[code].status, status }).toEqual({
      code,
      listed: answer.status,
      status: answer.status,
    });
    expect(detail).not.toBe("");
  }

  await fc.assert(
    fc.asyncProperty(fc.array(oddRequests(operations, ids), { minLength: 4, maxLength: 4 }), async (several) => {
      // At once, so that they also meet each other.
      await Promise.all(several.map(check));
      asked += several.length;
      if (asked % 20 === 0) await restore();
      if (asked % 400 === 0) expect(await sql.unsafe(halves)).toEqual([]);
    }),
    { numRuns: 100_000, interruptAfterTimeLimit: forHowLongMs, markInterruptAsFailure: false, endOnFailure: true },
  );
  expect(await sql.unsafe(halves)).toEqual([]);
  expect(await findViolations(sql)).toEqual([]);
  const unreached = operations.map(({ method, path }) => `${method} ${path}`).filter((route) => !reached.has(route));
  console.log(`${asked} requests`, Object.fromEntries(statuses), "never successful:", unreached);
  expect(statuses.get(200)).toBeGreaterThan(asked / 20);
});

test("what PostgreSQL or JavaScript cannot hold is refused or kept, in every place of every request, and fails nowhere", async () => {
  const operations = await listOperations(server);
  const schemas = await listSchemas(server);
  const { world, ids } = await givenObjects();
  const { admin } = world.tokens;
  const failed = new Set<string>();
  let asked = 0;
  for (const operation of operations) {
    const { method } = operation;
    const [id = world.admin] = ids[operation.path.split("/")[2] ?? ""] ?? [];
    const path = fillPath(operation.path, id);
    const about = operation.path === "/v1/approvals/decisions" ? id : world.admin;
    let version = await versionAt(path);
    const good = goodBody(operation, about);
    for (const [query, body] of [
      ...unholdableQueries(operation).map((query) => [query, good] as const),
      ...unholdableBodies(operation, schemas, about).map((body) => [undefined, body] as const),
    ]) {
      const target = new URL(path, server.url);
      if (query !== undefined) target.searchParams.set(...query);
      const answer = await send(server, admin, method, `${target.pathname}${target.search}`, {
        ...(body === undefined ? {} : { body }),
        headers: { "if-match": version },
      });
      asked += 1;
      if (answer.status >= 500) failed.add(`${method} ${operation.path} ${JSON.stringify([query, body])}`);
      if (answer.status === 200 && method !== "GET") version = await versionAt(path);
    }
  }
  expect([...failed]).toEqual([]);
  expect(failures).toEqual([]);
  expect(asked).toBeGreaterThan(1_000);

  async function versionAt(path: string): Promise<string> {
    const { headers } = await send(server, admin, "GET", path.replace(/\/versions$/, ""));
    return headers.get("etag") ?? '"1"';
  }
});
