import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sendOnce, settle } from "./send-once.ts";

let keys: (string | null)[] = [];
let answer = (): Response => new Response("{}");

beforeEach(() => {
  keys = [];
  answer = () => new Response("{}");
  vi.stubGlobal("fetch", (_input: unknown, init: RequestInit) => {
    keys.push(new Headers(init.headers).get("idempotency-key"));
    return Promise.resolve(answer());
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const post = (address: string, body: string, more: RequestInit = {}) =>
  sendOnce(address, { method: "POST", body, ...more });

test("the same request has the same key until it is settled, and then another", async () => {
  await post("/a", "x");
  const response = await post("/a", "x");
  settle(response);
  await post("/a", "x");
  expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).not.toBe(keys[0]);
});

test("another body, another address, another method or another version is another request", async () => {
  await post("/b", "x");
  await post("/c", "x");
  await post("/b", "x", { method: "PATCH" });
  await post("/b", "x", { headers: { "if-match": '"1"' } });
  await post("/b", "y");
  await post("/b", "x");
  expect(new Set(keys).size).toBe(6);
});

test("what was not answered is forgotten after a quarter of an hour", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  await post("/d", "x");
  vi.setSystemTime(Date.now() + 14 * 60_000);
  await post("/d", "x");
  vi.setSystemTime(Date.now() + 16 * 60_000);
  await post("/d", "x");
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).not.toBe(keys[0]);
});

test("what only reads has no key, nor has what replaces or removes, which is the same twice", async () => {
  await sendOnce("/e");
  for (const method of ["GET", "PUT", "DELETE"]) await sendOnce("/e", { method });
  expect(keys).toEqual([null, null, null, null]);
});
