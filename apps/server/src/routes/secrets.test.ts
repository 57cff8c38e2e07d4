import { randomBytes } from "node:crypto";
import { Writable } from "node:stream";
import { BrokerError } from "@countersign/broker/broker-error.ts";
import { publicKeyOf } from "@countersign/broker/public-key.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { pino } from "pino";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await testDatabase();
const lines: string[] = [];
const log = pino(
  { level: "trace" },
  new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  }),
);
const key = publicKeyOf(randomBytes(32));
const server = await startTestServer(url, { log, sealingKey: () => Promise.resolve(key) });
const keyless = await startTestServer(url, {
  log,
  sealingKey: () => Promise.reject(new BrokerError("key_missing", "no key in /some/folder")),
});
afterAll(() => Promise.all([server.stop(), keyless.stop()]));

const put = (token: string, name: string, value: unknown, capability = "slack.send", at = server) =>
  send(at, token, "PUT", `/v1/secrets/${name}`, { body: { capability, value } });

/** True where the text is in any row of any table, as it is, in hex or in base64. */
async function isStored(value: string): Promise<boolean> {
  const tables = await sql<{ name: string }[]>`
    select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`;
  const needles = [value, Buffer.from(value).toString("hex"), Buffer.from(value).toString("base64")];
  for (const { name } of tables) {
    const rows = await sql.unsafe<{ text: string }[]>(`select t::text as text from ${name} t`);
    if (rows.some(({ text }) => needles.some((needle) => text.includes(needle)))) return true;
  }
  return false;
}

test("a secret is sealed on arrival: its value is in no answer, no row and no line of the log, and each change is audited", async () => {
  const { tokens, workspaceId, admin } = await givenPeople(sql);
  const value = `hunter-${randomBytes(12).toString("hex")}`;
  const first = await put(tokens.admin, "smtp", value);
  expect(first).toMatchObject({ status: 200, body: { name: "smtp", capability: "slack.send", version: 1 } });
  const next = await put(tokens.admin, "smtp", `${value}-2`);
  expect(next.body).toMatchObject({ version: 2, id: first.body["id"] });
  const listed = await send(server, tokens.admin, "GET", "/v1/secrets");
  expect(listed.body).toMatchObject({ secrets: [{ name: "smtp", version: 2 }], nextCursor: null });
  for (const answer of [first, next, listed]) expect(JSON.stringify(answer.body)).not.toContain(value);
  expect(await isStored(value)).toBe(false);
  expect(lines.join("")).not.toContain(value);
  const versions = await sql`
    select v.key_id, v.created_by from secret_versions v join secrets s on s.id = v.secret_id
     where s.workspace_id = ${workspaceId}`;
  expect(versions).toEqual([
    { key_id: key.keyId, created_by: admin },
    { key_id: key.keyId, created_by: admin },
  ]);
  const audit = await sql`select action, subject from audit where workspace_id = ${workspaceId} order by id`;
  expect(audit.map((row) => row["action"])).toEqual(["secret.set", "secret.set"]);
});

test("a deleted secret is gone from the list, and setting it again brings it back", async () => {
  const { tokens } = await givenPeople(sql);
  const remove = () => send(server, tokens.admin, "DELETE", "/v1/secrets/smtp");
  expect(await remove()).toMatchObject({ status: 404 });
  await put(tokens.admin, "smtp", "long-enough-1");
  expect(await remove()).toMatchObject({ status: 200, body: { name: "smtp", outcome: "deleted" } });
  expect((await send(server, tokens.admin, "GET", "/v1/secrets")).body).toMatchObject({ secrets: [] });
  expect(await remove()).toMatchObject({ status: 404 });
  expect((await put(tokens.admin, "smtp", "long-enough-2")).body).toMatchObject({ version: 2 });
});

test("what cannot be kept out of results, or serves a capability that another serves, is refused and nothing is stored", async () => {
  const { tokens, workspaceId } = await givenPeople(sql);
  expect(await put(tokens.admin, "a", "short")).toMatchObject({ status: 422, body: { code: "unfit_secret" } });
  expect(await put(tokens.admin, "a", "half-a-pair-\ud800")).toMatchObject({
    status: 422,
    body: { code: "unfit_secret" },
  });
  for (const name of ["..", "%20", "a%2fb", "x".repeat(101), "-a"]) {
    expect((await put(tokens.admin, name, "long-enough")).status).toBeGreaterThanOrEqual(400);
  }
  expect(await put(tokens.admin, "a", "long-enough", "Mail Send")).toMatchObject({ status: 422 });
  expect(await sql`select from secrets where workspace_id = ${workspaceId}`).toEqual([]);
  await put(tokens.admin, "a", "long-enough");
  const taken = await put(tokens.admin, "b", "long-enough");
  expect(taken).toMatchObject({ status: 409, body: { code: "capability_taken" } });
  expect(taken.body.detail).toContain("The secret a serves");
});

test("without a key to seal with nothing is stored, and where the key should be is told to the log alone", async () => {
  const { tokens, workspaceId } = await givenPeople(sql);
  const answer = await put(tokens.admin, "a", "long-enough", "slack.send", keyless);
  expect(answer).toMatchObject({ status: 503, body: { code: "cannot_seal" } });
  expect(JSON.stringify(answer.body)).not.toContain("/some/folder");
  expect(lines.join("")).toContain("no key in /some/folder");
  expect(await sql`select from secrets where workspace_id = ${workspaceId}`).toEqual([]);
});

test("a value that the capability's tools cannot use is refused with each field, and is in no answer and no row", async () => {
  const { tokens, workspaceId } = await givenPeople(sql);
  const value = JSON.stringify({ host: "smtp.example.org", port: "swordfish", user: "agent" });
  const refused = await put(tokens.admin, "smtp", value, "mail.send");
  expect(refused).toMatchObject({ status: 422, body: { code: "unfit_secret" } });
  expect(refused.body["errors"]).toEqual([
    { path: "json.value.from", message: expect.stringContaining("is missing") },
    { path: "json.value.port", message: "expected a whole number from 1 to 65535" },
  ]);
  expect(refused.body.detail).toContain("cannot be used for mail.send, so nothing was stored");
  expect(JSON.stringify(refused.body)).not.toContain("swordfish");
  const noJson = await put(tokens.admin, "smtp", "not a json", "mail.send");
  expect(noJson.body.detail).toContain("a JSON object with host, port, from");
  expect(await sql`select from secrets where workspace_id = ${workspaceId}`).toEqual([]);
});

test("a capability that no tool requires and no definition names is refused with those that are known", async () => {
  const { tokens, definitionId } = await givenPeople(sql);
  const refused = await put(tokens.admin, "slip", "long-enough", "mail.sned");
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ path: "json.capability" }] } });
  expect(refused.body.detail).toMatch(/"mail.sned".*Known: .*mail\.send.*COUNTERSIGN_TOOLS/);
  await sql`
    update definition_versions set spec = (spec::jsonb || '{"caps": ["mail.sned"]}')::json
     where definition_id = ${definitionId}`;
  expect(await put(tokens.admin, "own", "long enough", "mail.sned")).toMatchObject({ status: 200 });
});
