import { expect, test } from "vitest";
import { testDatabase } from "./testing/test-database.ts";

const { sql } = await testDatabase();

test("a test file finds a database of its own, already migrated", async () => {
  const [row] = await sql<{ there: boolean }[]>`select to_regclass('migrations') is not null as there`;
  expect(row?.there).toBe(true);
});
