import { connect, type Sql } from "@countersign/db/connect.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { afterAll, afterEach, expect } from "vitest";
import { findViolations } from "./invariants.ts";

/**
 * A database for one test file: a pool, and a second one as another process has it. After every test the invariants of
 * docs/invariants.sql are expected to hold.
 */
export async function engineDatabase(): Promise<{ url: string; sql: Sql; elsewhere: Sql }> {
  const { url, sql } = await testDatabase();
  const elsewhere = connect(url, { applicationName: "countersign tests, elsewhere" });
  afterAll(() => elsewhere.end({ timeout: 5 }));
  afterEach(async () => {
    expect(await findViolations(sql)).toEqual([]);
  });
  return { url, sql, elsewhere };
}
