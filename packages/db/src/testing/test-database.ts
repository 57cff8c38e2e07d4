import { randomUUID } from "node:crypto";
import { afterAll, inject } from "vitest";
import { connect, type ConnectOptions, type Sql } from "../connect.ts";
import { databaseUrl } from "./database-url.ts";

export type TestDatabase = { url: string; sql: Sql };

/**
 * A fresh database, migrated, for this test file alone; its pool is ended and it is dropped after the file's last
 * test. Call it once per file, at the top level or in `beforeAll`.
 */
export async function testDatabase(options: ConnectOptions = {}): Promise<TestDatabase> {
  const server = inject("testServer");
  const name = `${server.prefix}_${randomUUID().replaceAll("-", "")}`;
  const admin = connect(server.url, { max: 1, applicationName: "countersign tests" });
  await admin`create database ${admin(name)} template ${admin(server.template)}`;
  const url = databaseUrl(server.url, name);
  const sql = connect(url, { applicationName: "countersign tests", ...options });
  afterAll(async () => {
    await sql.end({ timeout: 5 });
    await admin`drop database ${admin(name)} with (force)`;
    await admin.end();
  });
  return { url, sql };
}
