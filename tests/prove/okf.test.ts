import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { proveOkf } from "./okf.ts";

test("pages keep their laws, and what many write on one page stays", async () => {
  const { url } = await testDatabase();
  const report = await proveOkf({
    url,
    draws: 100,
    rounds: 30,
    seed: 1,
    pages: undefined,
    onProgress: () => undefined,
  });
  expect(report.violations).toEqual([]);
  expect(report.counts["rounds"]).toBe(90);
});
