import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { OutsideContext, ToolOf, ToolResult } from "@countersign/engine/tool.ts";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { httpTool } from "./http-tool.ts";
import { httpToolFile, type HttpToolDeclaration } from "./http-tool-declaration.ts";
import { signCall } from "./sign-call.ts";

type Outside = Extract<ToolOf<Record<string, unknown>>, { effect: "once" | "idempotent" }>;
type Answerer = (response: ServerResponse, request: IncomingMessage) => void;

interface Got {
  readonly body: string;
  readonly headers: IncomingMessage["headers"];
}

const secret = "shared by the two";
let got: Got[] = [];
let answers: Answerer[] = [];
beforeEach(() => {
  got = [];
  answers = [];
});

const server = createServer((request, response) => {
  void text(request).then((body) => {
    got.push({ body, headers: request.headers });
    (answers.shift() ?? answer({ kind: "done", content: "did it" }))(response, request);
  });
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function answer(body: unknown, status = 200): Answerer {
  return (response) => response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
}
const drop: Answerer = (_response, request) => request.socket.destroy();
const breakOff: Answerer = (response) => {
  response.writeHead(200, { "content-length": "100" });
  response.write('{"kind":');
  response.socket?.end();
};
const silence: Answerer = () => undefined;

const schema = {
  type: "object",
  properties: { article: { type: "string", minLength: 1 }, count: { type: "integer", minimum: 1 } },
  required: ["article"],
  additionalProperties: false,
};

function declare(over: object = {}): HttpToolDeclaration {
  const url = `http://127.0.0.1:${port}/reserve`;
  const declared = { name: "stock.reserve", description: "Reserves.", url, schema, signedBy: "stock.call", ...over };
  const [tool] = httpToolFile.parse({ tools: [declared] }).tools;
  if (tool === undefined) throw new Error("nothing was declared");
  return tool;
}

function call(declared: HttpToolDeclaration, signal = new AbortController().signal): Promise<ToolResult> {
  const tool = httpTool(declared) as unknown as Outside;
  const context = {
    workspaceId: "w",
    runId: "r",
    callId: "c",
    userId: "u",
    idempotencyKey: "key-1",
    signal,
    acquire: async (capability: string) => {
      expect(capability).toBe("stock.call");
      return { use: <T>(body: (value: string) => Promise<T>) => body(secret) };
    },
  } as unknown as OutsideContext;
  return tool.execute(tool.schema.parse({ article: "screws" }), context);
}

describe("a call", () => {
  test("carries its arguments, its key and the ids of run and call, signed", async () => {
    expect(await call(declare())).toEqual({ kind: "done", content: "did it" });
    const [{ body, headers } = { body: "", headers: {} }] = got;
    expect(JSON.parse(body)).toEqual({
      tool: "stock.reserve",
      args: { article: "screws" },
      idempotencyKey: "key-1",
      workspaceId: "w",
      runId: "r",
      callId: "c",
      userId: "u",
    });
    expect(headers["idempotency-key"]).toBe("key-1");
    const at = new Date(Number(headers["webhook-timestamp"]) * 1_000);
    expect(headers).toMatchObject({ ...signCall(secret, "key-1", at, body) });
    expect(Math.abs(Date.now() - at.getTime())).toBeLessThan(5_000);
    expect(JSON.stringify({ body, headers })).not.toContain(secret);
  });

  test("is answered with what the other side says: done, failed or unknown", async () => {
    for (const kind of ["done", "failed", "unknown"] as const) {
      answers = [answer({ kind, content: "so it is", more: "left out" })];
      expect(await call(declare())).toEqual({ kind, content: "so it is" });
    }
  });
});

describe("without an answer", () => {
  const lost: [string, Answerer][] = [
    ["a drop", drop],
    ["an answer that breaks off", breakOff],
    ["an error of the server", answer("", 503)],
    ["something that is no answer", answer("<html>")],
    ["an answer of another shape", answer({ ok: true })],
    ["an answer of over 1 MB", answer({ kind: "done", content: "x".repeat(1_100_000) })],
    ["a promise to answer later", answer("", 202)],
  ];

  test.each(lost)("%s leaves a call that can happen only once unknown, and it is sent once", async (_what, respond) => {
    answers = [respond];
    const result = await call(declare());
    expect(result).toMatchObject({ kind: "unknown", content: expect.stringContaining("stock.reserve at 127.0.0.1") });
    expect(got).toHaveLength(1);
  });

  test.each(lost.slice(0, 3))(
    "%s is followed by another attempt with the same key where that does no harm",
    async (_what, respond) => {
      answers = [respond];
      expect(await call(declare({ effect: "idempotent" }))).toEqual({ kind: "done", content: "did it" });
      expect(got.map(({ headers }) => headers["idempotency-key"])).toEqual(["key-1", "key-1"]);
      expect(got[0]?.body).toBe(got[1]?.body);
    },
  );

  test("a refusal is an answer: nothing is repeated, and a redirect is not followed", async () => {
    for (const status of [400, 401, 404, 302]) {
      answers = [answer("secret words of theirs", status)];
      expect(await call(declare({ effect: "idempotent" }))).toEqual({
        kind: "failed",
        content: `refused with HTTP ${status}`,
      });
    }
    expect(got).toHaveLength(4);
  });

  test("what never reached the other side was not carried out", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port: free } = closed.address() as AddressInfo;
    closed.close();
    expect(await call(declare({ url: `http://127.0.0.1:${free}/` }))).toEqual({
      kind: "failed",
      content: `stock.reserve at 127.0.0.1:${free} gave no answer: 127.0.0.1 could not be reached; it was not carried out`,
    });
    answers = [answer("", 429)];
    expect(await call(declare())).toMatchObject({
      kind: "failed",
      content: expect.stringContaining("not carried out"),
    });
  });

  test("silence ends at the tool's limit, and when the call is stopped", async () => {
    answers = [silence, silence];
    expect(await call(declare({ timeoutMs: 150 }))).toMatchObject({ kind: "unknown" });
    expect(await call(declare({ effect: "idempotent" }), AbortSignal.timeout(150))).toMatchObject({ kind: "failed" });
  });
});

describe("a declaration", () => {
  test("asks a person unless it only reads, and requires the capability that signs", () => {
    expect(httpTool(declare())).toMatchObject({
      effect: "once",
      needsApproval: true,
      tier: "exec",
      requires: ["stock.call"],
    });
    expect(httpTool(declare({ effect: "read-only" }))).toMatchObject({ needsApproval: false, tier: "read" });
  });

  test.each([
    ["http to another machine", { url: "http://example.com/" }],
    ["a login in the address", { url: "https://a:b@example.com/" }],
    ["another protocol", { url: "ftp://example.com/" }],
    ["no schema of an object", { schema: { type: "string" } }],
    ["a capability that is no name", { signedBy: "stock" }],
    ["an unknown field", { headers: { authorization: "Bearer x" } }],
    ["an effect that only our own database can have", { effect: "transactional" }],
  ])("with %s is refused", (_what, over) => {
    expect(() => declare(over)).toThrow(/"path": \[\s+"tools"/);
  });
});

test("a signature is that of Standard Webhooks", () => {
  // The example of the specification.
  const at = new Date(1_614_265_330_000);
  const id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
  expect(signCall("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", id, at, '{"test": 2432232314}')).toEqual({
    "webhook-id": id,
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});
