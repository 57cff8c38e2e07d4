import { connect as connectSocket } from "node:net";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { afterAll, expect, test } from "vitest";
import { send, startTestServer } from "./testing/harness.ts";

const { url } = await testDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());
const { port } = new URL(server.url);

/** Everything the server answers to these bytes. */
async function exchange(bytes: string): Promise<string> {
  return await new Promise((resolve, reject) => {
    const socket = connectSocket(Number(port), "127.0.0.1", () => socket.write(bytes));
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
