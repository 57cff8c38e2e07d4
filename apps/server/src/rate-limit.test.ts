import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { afterAll, expect, test } from "vitest";
import { createBuckets } from "./rate-limit.ts";
import { givenPeople, send, startTestServer } from "./testing/harness.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url, { rateLimit: { perSecond: 0.5, burst: 3 } });
afterAll(() => server.stop());

test("a bucket lets a burst through, then as much as it fills, and says when it has enough again", () => {
  let now = 0;
  const { take } = createBuckets({ perSecond: 10, burst: 3 }, () => now);
  expect([take("a"), take("a"), take("a")]).toEqual([0, 0, 0]);
  expect(take("a")).toBe(100);
  expect(take("b")).toBe(0);
  now = 60;
  expect(take("a")).toBe(40);
  now = 100;
  expect(take("a")).toBe(0);
  expect(take("a")).toBe(100);
  now = 10_000;
  expect([take("a"), take("a"), take("a")]).toEqual([0, 0, 0]);
  expect(take("a")).toBe(100);
});

test("buckets that are full again are forgotten before there are too many", () => {
  let now = 0;
  const buckets = createBuckets({ perSecond: 1, burst: 2 }, () => now);
  for (let n = 0; n < 10_000; n += 1) buckets.take(`old ${n}`);
  now = 5_000;
  buckets.take("new");
  expect(buckets.size()).toBe(1);
});

test("an account that sends too much is told when to come back, with all its tokens; others are not held up", async () => {
  const { tokens } = await givenPeople(sql);
  const read = (token: string) => send(server, token, "GET", "/v1/me");
  const answers = [];
  for (let n = 0; n < 5; n += 1) answers.push(await read(tokens.viewer));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
  expect(answers[4]).toMatchObject({ body: { code: "rate_limited", retryAfterSeconds: 2 } });
  expect(answers[4]?.headers.get("retry-after")).toBe("2");
  expect(await read(tokens.admin)).toMatchObject({ status: 200 });
  expect(await send(server, undefined, "GET", "/health/live")).toMatchObject({ status: 200 });
});
