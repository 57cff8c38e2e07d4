import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { appendAudit } from "./append-audit.ts";
import { type AuditHead, signHeads } from "./audit-heads.ts";
import { makeAuditJwk, parseAuditKey } from "./audit-key.ts";
import { type AuditCheckReport, checkAudit } from "./check-audit.ts";
import { sealAudit } from "./seal-audit.ts";
import { makeWorkspace } from "./testing/fixtures.ts";

const { sql } = await testDatabase();
const { key } = parseAuditKey(makeAuditJwk(), "a test key");

const keptOf = (heads: readonly AuditHead[] = [], badLines: readonly number[] = []) => {
  return () => Promise.resolve({ heads, badLines });
};

/** A workspace with this many sealed rows, the head that was signed over them, and a check that was asked for. */
async function givenAsked(rows: number): Promise<{ workspaceId: string; id: string; head: AuditHead }> {
  const workspaceId = await makeWorkspace(sql);
  await sql`insert into audit (workspace_id, actor, action)
            select ${workspaceId}, 'system', 'test.made' from generate_series(1, ${rows}::int)`;
  // Another transaction of this server, in whatever database, holds sealing up while it lasts.
  for (let left = rows; left > 0; await pause(5)) {
    await sealAudit(sql, key);
    left = rows - (await sql`select from audit_chain where workspace_id = ${workspaceId}`).length;
  }
  const head = (await signHeads(sql, key)).find((one) => one.workspaceId === workspaceId);
  if (head === undefined) throw new Error("no head was signed");
  const [id, userId] = [randomUUID(), randomUUID()];
  await sql`insert into users (id, workspace_id, name, role) values (${userId}, ${workspaceId}, 'Ada', 'admin')`;
  await sql`insert into audit_checks (id, workspace_id, asked_by) values (${id}, ${workspaceId}, ${userId})`;
  return { workspaceId, id, head };
}

async function reportOf(id: string): Promise<AuditCheckReport | undefined> {
  const [row] = await sql<{ report: AuditCheckReport | null }[]>`
    select report from audit_checks where id = ${id} and finished_at is not null`;
  return row?.report ?? undefined;
}

test("a check that was asked for is made of its workspace alone, and says to which row a cut would show", async () => {
  const [mine, others] = [await givenAsked(5), await givenAsked(3)];
  await sql`update audit_checks set finished_at = clock_timestamp() where id = ${others.id}`;
  await sql`update audit set actor = 'user:x' where workspace_id = ${others.workspaceId}`;
  await appendAudit(sql, { workspaceId: mine.workspaceId, actor: "system", action: "test.made" });
  expect(await checkAudit(sql, key, keptOf([mine.head, others.head]))).toBe(true);
  expect(await reportOf(mine.id)).toEqual({
    sealed: 5,
    unsealed: 1,
    end: { seq: 5, hash: mine.head.hash },
    keptHead: mine.head,
    badLines: 0,
    broken: 0,
    breaks: [],
  });
  expect(await checkAudit(sql, key, keptOf())).toBe(false);
});

test("each broken row is named, a line that is no head counts as broken, and without a kept head that is said", async () => {
  const { workspaceId, id } = await givenAsked(5);
  await sql`update audit set actor = 'user:x'
             where id in (select audit_id from audit_chain where workspace_id = ${workspaceId} and seq in (2, 4))`;
  await checkAudit(sql, key, keptOf([], [7]));
  const report = await reportOf(id);
  expect(report).toMatchObject({ sealed: 5, keptHead: null, badLines: 1, broken: 3 });
  expect(report?.breaks.map(({ what, seq }) => `${what} ${seq}`)).toEqual(["changed 2", "changed 4"]);
});

test("a tail that was cut off with its heads shows by the kept head, and by nothing else", async () => {
  const { workspaceId, id, head } = await givenAsked(5);
  await sql`delete from audit where id in
            (select audit_id from audit_chain where workspace_id = ${workspaceId} and seq > 3)`;
  await sql`delete from audit_chain where workspace_id = ${workspaceId} and seq > 3`;
  await sql`delete from audit_heads where workspace_id = ${workspaceId}`;
  await checkAudit(sql, key, keptOf());
  expect(await reportOf(id)).toMatchObject({ sealed: 3, broken: 0, keptHead: null });
  await sql`update audit_checks set finished_at = null, taken_at = null where id = ${id}`;
  await checkAudit(sql, key, keptOf([head]));
  expect(await reportOf(id)).toMatchObject({ sealed: 3, broken: 1, keptHead: head, breaks: [{ what: "cut", seq: 4 }] });
});

test("a key that was replaced breaks every row, and the report stays small", async () => {
  const { id } = await givenAsked(2_500);
  const { key: another } = parseAuditKey(makeAuditJwk(), "another test key");
  await checkAudit(sql, another, keptOf());
  const report = await reportOf(id);
  // Every row, and the head in the database.
  expect(report?.broken).toBe(2_501);
  expect(report?.breaks).toHaveLength(100);
});

test("a check that its worker left is made by another, one that is under way is not", async () => {
  const { id } = await givenAsked(1);
  await sql`update audit_checks set taken_at = clock_timestamp() where id = ${id}`;
  expect(await checkAudit(sql, key, keptOf())).toBe(false);
  await sql`update audit_checks set taken_at = clock_timestamp() - interval '61 seconds' where id = ${id}`;
  expect(await Promise.all([checkAudit(sql, key, keptOf()), checkAudit(sql, key, keptOf())])).toContain(true);
  expect(await reportOf(id)).toMatchObject({ sealed: 1, broken: 0 });
});

test("it says how far it has come while it reads", async () => {
  const { id } = await givenAsked(4_100);
  await checkAudit(sql, key, async () => {
    await sql`create function note_read() returns trigger language plpgsql as $$
      begin insert into noted values (new.rows_read); return new; end $$`;
    await sql`create table noted (rows bigint)`;
    await sql`create trigger noting after update of rows_read on audit_checks for each row execute function note_read()`;
    return { heads: [], badLines: [] };
  });
  const rows = await sql<{ rows: number }[]>`select rows from noted where rows < 4100 order by rows`;
  expect(rows.map((row) => row.rows)).toEqual([2_000, 4_000]);
  expect(await reportOf(id)).toMatchObject({ sealed: 4_100 });
});
