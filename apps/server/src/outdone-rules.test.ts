import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { appScope } from "@countersign/engine/commits/kill-scope.ts";
import { type RuleChange, setRules } from "@countersign/engine/commits/set-rules.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, givenPeople, send, startTestServer } from "./testing/harness.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

const mail = { kind: "tool", name: "mail.send" } as const;
const locked = { verdict: "ask", reason: "ask_locked@app", layer: "app" };

beforeAll(async () => {
  const change: RuleChange = {
    target: mail,
    rule: { mode: "ask", locked: true },
    covers: ["mail.send"],
    seenVersion: 0,
  };
  await setRules(sql, appScope, { userId: undefined, way: "configuration" }, [change]);
});

const change = (token: string, changes: readonly object[], query = "") =>
  send(server, token, "PATCH", `/v1/rules${query}`, { body: { changes } });

const outdoneOf = ({ body }: Answer) => (body["changes"] as { outdone?: object }[]).map(({ outdone }) => outdone);

test("a rule that a lock further out outdoes is stored, and the answer says what holds instead", async () => {
  const { tokens } = await givenPeople(sql);
  const shown = await change(tokens.admin, [{ target: mail, mode: "allow" }], "?dryRun=true");
  expect(shown.body["changes"]).toMatchObject([{ outcome: "written", outdone: locked }]);
  const set = await change(tokens.admin, [{ target: mail, mode: "allow" }]);
  expect(set.body["changes"]).toMatchObject([{ outcome: "written", outdone: locked }]);
  const layer = await send(server, tokens.admin, "GET", "/v1/rules");
  expect(layer.body["rules"]).toMatchObject([{ target: mail, mode: "allow" }]);
});

test("a rule that has an effect on some call is not said to be outdone, nor one that is taken away", async () => {
  const { tokens } = await givenPeople(sql);
  const set = await change(tokens.admin, [
    { target: { kind: "everything" }, mode: "allow" },
    { target: { kind: "tool", name: "kb.append" }, mode: "allow" },
    { target: mail, mode: "deny" },
  ]);
  expect(outdoneOf(set)).toEqual([undefined, undefined, undefined]);
  const cleared = await change(tokens.admin, [{ target: mail, mode: null }]);
  expect(cleared.body["changes"]).toMatchObject([{ outcome: "cleared" }]);
  expect(outdoneOf(cleared)).toEqual([undefined]);
});

test("a document says it of each rule that it would write", async () => {
  const { tokens } = await givenPeople(sql);
  const body = {
    rules: [
      { target: mail, mode: "allow" },
      { target: { kind: "tool", name: "kb.append" }, mode: "ask" },
    ],
  };
  const shown = await send(server, tokens.admin, "PUT", "/v1/rules?dryRun=true", { body });
  expect(shown.body["changes"]).toMatchObject([{ path: "tool:mail.send" }, { path: "tool:kb.append" }]);
  expect(outdoneOf(shown)).toMatchObject([locked, undefined]);
});
