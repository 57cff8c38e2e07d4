import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { isSnapshot } from "./snapshot.ts";

const { sql } = await testDatabase();

test.each([
  ["10:20:10,14,15", true],
  ["10:10:", true],
  ["1:1:", true],
  ["10:20:21", false],
  ["10:20:9", false],
  ["10:20:12,11", false],
  ["20:10:", false],
  ["0:0:", false],
  ["10:20", false],
  ["10:20:10,", false],
  ["-1:20:", false],
  ["10:99999999999999999999:", false],
  ["10:20:; select 1", false],
  ["", false],
])("%j is taken for a snapshot exactly where the database takes it: %s", async (text, expected) => {
  expect(isSnapshot(text)).toBe(expected);
  const inDatabase = await sql`select ${text}::pg_snapshot`.then(
    () => true,
    () => false,
  );
  // The database is a little more lenient; whatever we let pass, it reads.
  if (isSnapshot(text)) expect(inDatabase).toBe(true);
});
