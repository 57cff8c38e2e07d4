import { expect, test } from "vitest";
import { retryWaitMs } from "./retry-wait.ts";

const times = { forMs: 60_000, firstMs: 1_000, maxMs: 8_000 };
const longest = () => 1;
const shortest = () => 0;

test("each wait is up to twice as long as the one before, up to the longest", () => {
  const waits = [1, 2, 3, 4, 5, 40].map((attempt) => retryWaitMs(times, attempt, undefined, 0, longest));
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
});

test("chance takes no more than half of a wait", () => {
  expect(retryWaitMs(times, 3, undefined, 0, shortest)).toBe(2_000);
});

test("nobody comes back before the provider asked them to, and not all at once", () => {
  expect(retryWaitMs(times, 1, 5_000, 0, shortest)).toBe(5_000);
  expect(retryWaitMs(times, 1, 5_000, 0, longest)).toBe(5_500);
});

test("a provider that asks for a year gets the longest wait", () => {
  expect(retryWaitMs(times, 1, 365 * 86_400_000, 0, shortest)).toBe(8_000);
});

test("no wait begins that would end too late", () => {
  expect(retryWaitMs(times, 4, undefined, 52_000, longest)).toBe(8_000);
  expect(retryWaitMs(times, 4, undefined, 52_001, longest)).toBeUndefined();
});
