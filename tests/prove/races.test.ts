import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { proveRaces } from "./races.ts";

const { url } = await testDatabase();

test("acts that meet on one run come to what they come to one at a time, and every invariant holds (a sample of prove:races)", async () => {
  const { counts, violations } = await proveRaces({ url, sample: 60 });
  expect(violations).toEqual([]);
  expect(counts).toMatchObject({ orders: 60 });
});
