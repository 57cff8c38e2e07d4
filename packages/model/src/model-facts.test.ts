import { expect, test } from "vitest";
import { costMicrosOf } from "./model-facts.ts";

const prices = {
  inputMicros: 3_000_000,
  outputMicros: 15_000_000,
  cacheWriteMicros: 3_750_000,
  cacheReadMicros: 300_000,
};
const none = { input: 0, output: 0, cacheWrite: 0, cacheRead: 0 };

test.each([
  [none, 0],
  [{ ...none, input: 1_000 }, 3_000],
  [{ ...none, output: 1_000 }, 15_000],
  [{ ...none, cacheWrite: 1_000 }, 3_750],
  [{ ...none, cacheRead: 1_000 }, 300],
  [{ input: 1, output: 1, cacheWrite: 1, cacheRead: 1 }, 22],
  [{ ...none, output: 2 ** 31 }, 32_212_254_720],
])("%j costs %d", (tokens, costMicros) => {
  expect(costMicrosOf(tokens, prices)).toBe(costMicros);
});
