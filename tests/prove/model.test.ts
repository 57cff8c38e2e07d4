import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { proveModel } from "./model.ts";

const { url } = await testDatabase();

test(
  "several runs under random commands of several callers do what a small model says (a short prove:model)",
  { timeout: 180_000 },
  async () => {
    const seed = Date.now() % 2 ** 31;
    const { counts, violations } = await proveModel({ url, sequences: 10, length: 80, seed });
    expect(violations, `seed ${seed}`).toEqual([]);
    expect(counts).toMatchObject({ sequences: 10 });
  },
);
