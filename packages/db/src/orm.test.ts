import { randomUUID } from "node:crypto";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { orm } from "./orm.ts";
import { users, workspaces } from "./schema.ts";
import { testDatabase } from "./testing/test-database.ts";
import { transaction } from "./transaction.ts";

const { sql } = await testDatabase();

test("typed queries run on the pool and inside a transaction, and leave the pool's own types alone", async () => {
  const id = randomUUID();
  await transaction(sql, async (tx) => {
    await orm(tx).insert(workspaces).values({ id, name: "of the transaction" });
  });
  const [found] = await orm(sql).select().from(workspaces).where(eq(workspaces.id, id));
  expect(found).toMatchObject({ id, name: "of the transaction" });
  expect(found?.createdAt).toBeInstanceOf(Date);
  const [raw] = await sql`select created_at, '{"a": "10.5"}'::json as document from workspaces where id = ${id}`;
  expect(raw?.created_at).toBeInstanceOf(Date);
  expect(raw?.document).toEqual({ a: "10.5" });
});

test("what a typed query writes in a transaction that fails is not there", async () => {
  const id = randomUUID();
  const failing = transaction(sql, async (tx) => {
    await orm(tx).insert(workspaces).values({ id, name: "never" });
    await orm(tx).insert(users).values({ id, workspaceId: randomUUID(), name: "of no workspace", role: "admin" });
  });
  await expect(failing).rejects.toThrow("Failed query");
  expect(await orm(sql).select().from(workspaces).where(eq(workspaces.id, id))).toEqual([]);
});
