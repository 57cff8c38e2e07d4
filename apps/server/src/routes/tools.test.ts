import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

test("every tool is listed by name with what the model is told and what the gate reads", async () => {
  const { tokens } = await givenPeople(sql);
  const { body } = await send(server, tokens.viewer, "GET", "/v1/tools");
  const tools = body["tools"] as { name: string; inputSchema: object; definitionHash: string }[];
  expect(tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name).toSorted());
  for (const { inputSchema, definitionHash } of tools) {
    expect(inputSchema).toMatchObject({ type: "object" });
    expect(definitionHash).not.toBe("");
  }
  const mail = await send(server, tokens.viewer, "GET", "/v1/tools/mail.send");
  expect(mail.body).toMatchObject({
    requires: ["mail.send"],
    effect: "once",
    tier: "exec",
    risk: "high",
    needsApproval: "always",
  });
  const ask = await send(server, tokens.viewer, "GET", "/v1/tools/human.ask");
  expect(ask.body).toMatchObject({ effect: "question", needsApproval: "question" });
  expect(await send(server, tokens.viewer, "GET", "/v1/tools/constructor")).toMatchObject({ status: 404 });
});
