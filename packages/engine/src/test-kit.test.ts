import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { openTestKit } from "./test-kit.ts";
import { engineDatabase } from "./testing/engine-database.ts";

const { sql, url } = await engineDatabase();

test("a kit that may not make its database leaves no connection behind", async () => {
  const role = `kit_${randomUUID().slice(0, 8)}`;
  await sql.unsafe(`create role ${role} login password 'sesame'`);
  try {
    const as = new URL(url);
    as.username = role;
    as.password = "sesame";
    await expect(openTestKit({ databaseUrl: as.href })).rejects.toThrow("permission denied to create database");
    // A session whose connection was closed is listed for a moment longer.
    await expect.poll(async () => await sql`select from pg_stat_activity where usename = ${role}`).toHaveLength(0);
  } finally {
    await sql.unsafe(`drop role ${role}`);
  }
});
