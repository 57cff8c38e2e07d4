import { expect, test } from "vitest";
import { giveBackMemory } from "./give-back-memory.ts";

test("memory that nothing refers to any more is given back", () => {
  let garbage: unknown[] | undefined = Array.from({ length: 2_000_000 }, (_, n) => ({ n }));
  expect(garbage).toHaveLength(2_000_000);
  const before = process.memoryUsage().heapTotal;
  garbage = undefined;
  giveBackMemory();
  expect(process.memoryUsage().heapTotal).toBeLessThan(before - 40e6);
});
