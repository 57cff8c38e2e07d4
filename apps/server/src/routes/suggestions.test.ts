import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { afterAll, expect, test } from "vitest";
import { givenMail, mail, sendDecision } from "../testing/asking.ts";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

type People = Awaited<ReturnType<typeof givenPeople>>;

interface Suggestion {
  readonly rule: { readonly target: object; readonly mode: string; readonly entries: readonly object[] | null };
  readonly saved: number;
  readonly freed: number;
  readonly examples: readonly { readonly callId: string; readonly decision: string; readonly verdict: string }[];
}

async function givenDecided(people: People, to: string, ...answers: readonly object[]): Promise<string> {
  let runId = "";
  for (const answer of answers) {
    const asked = await givenMail(sql, people, { args: { ...mail, to: [to] } });
    expect(await sendDecision(server, people.tokens.approver, asked, answer)).toMatchObject({ status: 200 });
    runId = asked.runId;
  }
  return runId;
}

async function suggest(people: People, query = ""): Promise<readonly Suggestion[]> {
  const { status, body } = await send(server, people.tokens.viewer, "GET", `/v1/suggestions${query}`);
  expect(status).toBe(200);
  return body["suggestions"] as readonly Suggestion[];
}

const yes = { answer: "approve" };
const no = { answer: "deny" };

test("what was approved often and never denied is suggested as a rule, with calls that show what it does", async () => {
  const people = await givenPeople(sql);
  await givenDecided(people, "ann@example.com", yes, yes, yes, yes);
  await givenDecided(people, "bob@example.com", yes, yes, yes, no);
  await givenMail(sql, people, { args: mail });
  const [suggestion, ...others] = await suggest(people);
  expect(others).toEqual([]);
  expect(suggestion).toMatchObject({
    rule: { target: { kind: "tool", name: "mail.send" }, mode: "allow" },
    saved: 4,
    freed: 5,
  });
  expect(JSON.stringify(suggestion?.rule.entries)).toContain("ann@example.com");
  expect(JSON.stringify(suggestion?.rule.entries)).not.toContain("bob@example.com");
  const shown = suggestion?.examples.map(({ decision, verdict }) => `${decision} ${verdict}`);
  expect(new Set(shown)).toEqual(new Set(["approve allow", "approve ask", "deny ask"]));
});

test("a suggested rule can be set as it stands; then its examples come out as told, and it is suggested no more", async () => {
  const people = await givenPeople(sql);
  await givenDecided(people, "ann@example.com", yes, yes, yes);
  await givenDecided(people, "bob@example.com", no);
  const [suggestion] = await suggest(people);
  const { target, mode, entries } = suggestion?.rule ?? {};
  const changes = [{ target, mode, ...(entries == null ? {} : { entries }) }];
  expect(await send(server, people.tokens.admin, "PATCH", "/v1/rules", { body: { changes } })).toMatchObject({
    status: 200,
  });
  for (const { callId, verdict } of suggestion?.examples ?? []) {
    const { body } = await send(server, people.tokens.viewer, "POST", "/v1/explain", { body: { call: callId } });
    expect(body).toMatchObject({ now: { verdict } });
  }
  expect(await suggest(people)).toEqual([]);
});

test("a scope is told what its own calls say; calls that people changed, and few, say nothing", async () => {
  const people = await givenPeople(sql);
  const runId = await givenDecided(people, "ann@example.com", yes, yes);
  expect(await suggest(people)).toEqual([]);
  expect(await suggest(people, "?least=2")).toHaveLength(1);
  expect(await suggest(people, `?least=2&scope=definition&id=${people.definitionId}`)).toHaveLength(1);
  expect(await suggest(people, `?least=2&scope=run&id=${runId}`)).toEqual([]);
  expect(await suggest(people, "?least=2&scope=app")).toHaveLength(1);
  await givenDecided(people, "ann@example.com", {
    ...yes,
    editedArgs: JSON.stringify({ ...mail, subject: "Another" }),
  });
  expect(await suggest(people, "?least=2")).toEqual([]);
});

test("nothing is known of calls that are older than the days asked for", async () => {
  const people = await givenPeople(sql);
  await givenDecided(people, "ann@example.com", yes, yes, yes);
  expect(await suggest(people, "?days=0.00000001")).toEqual([]);
});
