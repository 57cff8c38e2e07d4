import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test } from "vitest";
import { ask, createClient, isOutOfReach } from "./client.ts";
import type { CliError } from "./exit.ts";

/** Answers with the status that the token names, and with the body that follows it there. */
const server = createServer((request, response) => {
  const [token = "", given] = (request.headers.authorization ?? "").replace("Bearer ", "").split("=");
  const status = Number(token);
  const body = status === 200 ? { definitions: [] } : { code: "some_code", detail: `It is ${status}.`, requestId: "r" };
  response
    .writeHead(status, { "content-type": "application/json" })
    .end(status === 502 ? "<html>" : (given ?? JSON.stringify(body)));
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(() => void server.close());

const definitions = (at: string, token: string) => ask(createClient(at, token).v1.definitions.$get({ query: {} }));

async function refusal(at: string, token: string): Promise<CliError> {
  return await definitions(at, token).then(
    () => expect.unreachable(),
    (error: unknown) => error as CliError,
  );
}

test("a success is its body", async () => {
  expect(await definitions(url, "200")).toEqual({ definitions: [] });
});

test.each([
  ["401", "denied"],
  ["403", "denied"],
  ["404", "error"],
  ["409", "conflict"],
  ["410", "conflict"],
  ["412", "conflict"],
  ["422", "usage"],
  ["423", "conflict"],
  ["428", "conflict"],
  ["500", "error"],
])("a refusal with %s says what the server said and exits as %s", async (status, exit) => {
  expect(await refusal(url, status)).toMatchObject({
    exit,
    message: `It is ${status}.`,
    details: { code: "some_code" },
  });
});

test("UI08: what is not an answer, a server that is not there and one that is not ready are no decision", async () => {
  expect((await refusal(url, "502")).message).toContain("502");
  const nobody = await refusal("http://127.0.0.1:9", "200");
  expect(nobody.message).toContain("./countersign dev");
  expect(isOutOfReach(nobody)).toBe(true);
  expect(isOutOfReach(await refusal(url, "503"))).toBe(true);
  expect(isOutOfReach(await refusal(url, "409"))).toBe(false);
});

test.each(["null", "[]", '"text"', "1"])(
  "a body of %s is no answer, and as a refusal it says no more than its status",
  async (body) => {
    expect(await refusal(url, `200=${body}`)).toMatchObject({
      name: "CliError",
      exit: "error",
      message: expect.stringContaining("no answer of Countersign") as string,
    });
    expect(await refusal(url, `403=${body}`)).toMatchObject({
      name: "CliError",
      exit: "denied",
      message: "The server answered 403.",
      details: {},
    });
  },
);

test("a refusal whose detail is no text says its status", async () => {
  expect((await refusal(url, '422={"detail":{"a":1}}')).message).toBe("The server answered 422.");
});
