import { createHash } from "node:crypto";
import { connect as connectSocket } from "node:net";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import pino from "pino";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "./testing/harness.ts";

const { sql, url } = await engineDatabase();
const arrivalMs = 3_000;
const logged: { level: number; msg: string; status?: number; path?: string }[] = [];
const log = pino({ level: "info" }, { write: (line) => logged.push(JSON.parse(line) as (typeof logged)[number]) });
const server = await startTestServer(url, { arrivalMs, log });
afterAll(() => server.stop());
const { port } = new URL(server.url);

/** Everything the server answers to these bytes, and to a further byte ten times a second as often as it is asked for. */
async function exchange(bytes: string, further = 0): Promise<string> {
  return await new Promise((resolve, reject) => {
    const socket = connectSocket(Number(port), "127.0.0.1", () => socket.write(bytes));
    let left = further;
    const timer = setInterval(() => (left-- > 0 && socket.writable ? socket.write(" ") : clearInterval(timer)), 100);
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString()));
    socket.on("close", () => resolve(text));
    socket.on("error", reject);
  });
}

function problemIn(answer: string): { status: string; code: unknown; requestId: unknown } {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  expect(head).toContain("Content-Type: application/problem+json");
  const { code, requestId } = JSON.parse(body) as { code: string; requestId: string };
  expect(head).toContain(`X-Request-Id: ${requestId}`);
  return { status: head.slice(9, 12), code, requestId };
}

test("what is no HTTP request is answered with a problem, and the connection ends", async () => {
  for (const bytes of ["nonsense\r\n\r\n", "GET / HTTP/1.1\r\nbad header\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"]) {
    expect(problemIn(await exchange(bytes))).toMatchObject({ status: "400", code: "malformed_request" });
  }
  expect(await send(server, undefined, "GET", "/health/live")).toMatchObject({ status: 200 });
});

test("headers over 16 KB are refused with 431, and up to that they are read", async () => {
  const padded = (length: number) =>
    `GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Pad: ${"x".repeat(length)}\r\n\r\n`;
  expect(problemIn(await exchange(padded(17_000)))).toMatchObject({ status: "431", code: "headers_too_large" });
  expect(await exchange(padded(15_000))).toMatch(/^HTTP\/1\.1 200 /);
});

test("an upload may take any time, as long as it comes on; what is bounded is there in time, or refused with 408", async () => {
  const { tokens } = await givenPeople(sql);
  const length = arrivalMs / 75;
  const hash = createHash("sha256").update(" ".repeat(length)).digest("hex");
  const head = (target: string, sent = length) =>
    `${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nAuthorization: Bearer ${tokens.operator}\r\nContent-Length: ${sent}\r\n\r\n`;
  const upload = `PUT /v1/uploads/${hash}?name=slow.txt`;
  const [slow, paused, bounded] = await Promise.all([
    exchange(head(upload), length),
    exchange(head(upload), 1),
    exchange(head("POST /v1/runs", 1_000), 1_000),
  ]);
  expect(slow).toMatch(/^HTTP\/1\.1 200 /);
  for (const late of [paused, bounded]) {
    expect(problemIn(late)).toMatchObject({ status: "408", code: "request_timeout" });
  }
});

test.each([
  ["an upload", `PUT /v1/uploads/${"0".repeat(64)}?name=a`, "Content-Length: 1000"],
  ["an upload of no stated length", `PUT /v1/uploads/${"0".repeat(64)}?name=a`, "Transfer-Encoding: chunked"],
  ["a document", "PUT /v1/rules?dryRun=true", "Content-Length: 1000"],
  ["a body of no stated length", "POST /v1/tasks", "Transfer-Encoding: chunked"],
  ["a keyed request", "POST /v1/tasks", "Content-Length: 1000\r\nIdempotency-Key: once"],
])("%s that its client cuts off is the client's fault, and no failure of ours", async (_what, target, header) => {
  const { tokens } = await givenPeople(sql);
  logged.length = 0;
  const before = server.requests();
  const head = `${target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer ${tokens.admin}\r\n${header}`;
  const socket = connectSocket(Number(port), "127.0.0.1", () => socket.write(`${head}\r\n\r\n5\r\n{"a":\r\n`));
  socket.on("error", () => undefined);
  await expect.poll(() => server.requests(), { timeout: 15_000 }).toBe(before + 1);
  socket.resetAndDestroy();
  await expect.poll(() => logged.find(({ msg }) => msg === "request")?.status, { timeout: 15_000 }).toBe(400);
  expect(logged.filter(({ level }) => level > 30)).toEqual([]);
});
