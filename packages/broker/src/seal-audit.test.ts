import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { connect, type Sql, type Tx } from "@countersign/db/connect.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { describe, expect, onTestFinished, test } from "vitest";
import { appendAudit } from "./append-audit.ts";
import { signHeads, type AuditHead } from "./audit-heads.ts";
import { makeAuditJwk, parseAuditKey } from "./audit-key.ts";
import { exportAudit } from "./export-audit.ts";
import { sealAudit } from "./seal-audit.ts";
import { verifyAudit } from "./verify-audit.ts";

const { sql, url } = await testDatabase();
const { key } = parseAuditKey(makeAuditJwk(), "a test key");

/** Another transaction of the server, in whatever database, holds sealing up while it lasts; none of them lasts long. */
async function sealAll(on: Sql = sql): Promise<number> {
  let rows = 0;
  for (;;) {
    const outcome = await sealAudit(on, key);
    if (outcome.kind === "sealed") rows += outcome.rows;
    const [left] = await on<{ n: number }[]>`
      select count(*)::int as n from audit a join audit_progress p on (a.xid, a.id) > (p.xid, p.id)`;
    if (left?.n === 0) return rows;
    await pause(5);
  }
}

async function write(workspaceId: string, subjects: readonly string[], on: Tx | Sql = sql): Promise<void> {
  for (const subject of subjects)
    await appendAudit(on, {
      workspaceId,
      actor: "system",
      action: "thing.done",
      subject,
      details: { n: 1, o: subject },
    });
}

async function chainOf(workspaceId: string): Promise<string[]> {
  const rows = await sql`
    select c.seq, a.subject from audit_chain c join audit a on a.id = c.audit_id
     where c.workspace_id = ${workspaceId} order by c.seq`;
  return rows.map((row) => `${row.seq} ${row.subject}`);
}

async function breaksOf(workspaceId: string, heads: readonly AuditHead[] = []) {
  const report = await verifyAudit(sql, key, heads);
  return report.breaks.filter((one) => one.workspaceId === workspaceId).map(({ what, seq }) => `${what} ${seq ?? "?"}`);
}

/** Five sealed rows of a workspace of their own, and the head that was signed over them. */
async function givenChain(): Promise<{ workspaceId: string; head: AuditHead }> {
  const workspaceId = randomUUID();
  await write(workspaceId, ["a", "b", "c", "d", "e"]);
  await sealAll();
  const head = (await signHeads(sql, key)).find((one) => one.workspaceId === workspaceId);
  if (head === undefined) throw new Error("no head was signed");
  return { workspaceId, head };
}

async function removeRow(workspaceId: string, seq: number, how: "row" | "row and place"): Promise<void> {
  await sql`
    delete from audit where id = (select audit_id from audit_chain where workspace_id = ${workspaceId} and seq = ${seq})`;
  if (how === "row and place") await sql`delete from audit_chain where workspace_id = ${workspaceId} and seq = ${seq}`;
}

describe("sealing", () => {
  test("numbers the rows of each workspace from one, without a gap, and verifies", async () => {
    const [one, two] = [randomUUID(), randomUUID()];
    for (const n of ["1", "2", "3"]) {
      await write(one, [`a${n}`]);
      await write(two, [`b${n}`]);
    }
    expect(await sealAll()).toBeGreaterThanOrEqual(6);
    expect(await chainOf(one)).toEqual(["1 a1", "2 a2", "3 a3"]);
    expect(await chainOf(two)).toEqual(["1 b1", "2 b2", "3 b3"]);
    await write(one, ["a4"]);
    await sealAll();
    expect((await chainOf(one)).at(-1)).toBe("4 a4");
    const report = await verifyAudit(sql, key, []);
    expect(report).toMatchObject({ isSound: true, unsealed: 0, breaks: [] });
    expect(report.sealed).toBeGreaterThanOrEqual(7);
  });

  test("leaves rows of a transaction that began after one still in progress, which may yet write before them", async () => {
    const workspaceId = randomUUID();
    await transaction(sql, async (slow) => {
      await write(workspaceId, ["slow 1"], slow);
      await write(workspaceId, ["fast"]);
      await sealAudit(sql, key);
      expect(await chainOf(workspaceId)).toEqual([]);
      await write(workspaceId, ["slow 2"], slow);
    });
    await sealAll();
    expect(await chainOf(workspaceId)).toEqual(["1 slow 1", "2 slow 2", "3 fast"]);
  });

  test("leaves nothing of a transaction that was rolled back", async () => {
    const workspaceId = randomUUID();
    await transaction(sql, async (tx) => {
      await write(workspaceId, ["never"], tx);
      throw new Error("on purpose");
    }).catch(() => undefined);
    await write(workspaceId, ["after"]);
    await sealAll();
    expect(await chainOf(workspaceId)).toEqual(["1 after"]);
  });

  test("by any number of sealers at once gives one chain, also while rows are written", async () => {
    const workspaceIds = [randomUUID(), randomUUID()];
    const elsewhere = connect(url, { max: 6 });
    onTestFinished(() => elsewhere.end());
    let isWriting = true;
    const sealers = [sql, elsewhere, elsewhere].map(async (on) => {
      while (isWriting) await sealAudit(on, key);
    });
    const writers = Array.from({ length: 6 }, async (_, writer) => {
      for (let n = 0; n < 25; n += 1) {
        await transaction(elsewhere, async (tx) => {
          for (const workspaceId of workspaceIds) await write(workspaceId, [`${writer}.${n}`], tx);
        });
      }
    });
    await Promise.all(writers);
    isWriting = false;
    await Promise.all(sealers);
    await sealAll();
    for (const workspaceId of workspaceIds) {
      const chain = await chainOf(workspaceId);
      expect(chain).toHaveLength(150);
      // What one writer did one after the other stands in that order.
      for (let writer = 0; writer < 6; writer += 1) {
        const own = chain.filter((line) => line.split(" ")[1]?.startsWith(`${writer}.`));
        expect(own.map((line) => line.split(".")[1])).toEqual(Array.from({ length: 25 }, (_, n) => String(n)));
      }
    }
    expect((await verifyAudit(sql, key, [])).isSound).toBe(true);
  });

  test("is one sealer's at a time: another is told so and waits for nothing", async () => {
    await transaction(sql, async (tx) => {
      await tx`select from audit_progress for no key update`;
      expect(await sealAudit(sql, key)).toEqual({ kind: "busy" });
    });
  });

  test("takes a large backlog in several turns", async () => {
    const workspaceId = randomUUID();
    await sql`insert into audit (workspace_id, actor, action, subject)
              select ${workspaceId}, 'system', 'thing.done', n::text from generate_series(1, 2500) n`;
    await sealAll();
    expect((await chainOf(workspaceId)).filter((line) => line.split(" ")[0] !== line.split(" ")[1])).toEqual([]);
  });

  test("that fails midway leaves nothing, and goes on later", async () => {
    const workspaceId = randomUUID();
    await write(workspaceId, ["a", "b"]);
    await sql.unsafe(`alter table audit_chain add constraint full_disk check (workspace_id <> '${workspaceId}')`);
    await expect(sealAll()).rejects.toThrow("full_disk");
    await sql.unsafe(`alter table audit_chain drop constraint full_disk`);
    await sealAll();
    expect(await chainOf(workspaceId)).toEqual(["1 a", "2 b"]);
  });

  test("goes on in a database that was restored where transactions count from anew", async () => {
    const { workspaceId } = await givenChain();
    const far = "9000000000000000";
    await write(workspaceId, ["not yet sealed at the backup"]);
    await sql`update audit set xid = ${far} where workspace_id = ${workspaceId}`;
    await sql`update audit_progress set xid = ${far}, id = 0`;
    await write(workspaceId, ["after the restore"]);
    await sealAll();
    expect((await chainOf(workspaceId)).slice(4)).toEqual([
      "5 e",
      "6 not yet sealed at the backup",
      "7 after the restore",
    ]);
    expect((await verifyAudit(sql, key, [])).isSound).toBe(true);
  });
});

describe("verification finds", () => {
  test.each([
    ["actor", "actor = 'user:another'"],
    ["action", "action = 'thing.undone'"],
    ["subject", "subject = 'x'"],
    ["time", "at = at + interval '1 microsecond'"],
    ["details, were it only a blank", `details = '{"n": 1,"o":"c"}'`],
    ["run", "run_id = gen_random_uuid()"],
  ])("a row whose %s was edited, and where", async (_name, change) => {
    const { workspaceId } = await givenChain();
    await sql.unsafe(
      `update audit set ${change} where id = (select audit_id from audit_chain where workspace_id = '${workspaceId}' and seq = 3)`,
    );
    expect(await breaksOf(workspaceId)).toEqual(["changed 3"]);
  });

  test("a row that was removed, with its place or without", async () => {
    const [one, two] = [await givenChain(), await givenChain()];
    await removeRow(one.workspaceId, 2, "row");
    expect(await breaksOf(one.workspaceId)).toEqual(["removed 2"]);
    await removeRow(two.workspaceId, 2, "row and place");
    expect(await breaksOf(two.workspaceId)).toEqual(["gap 2"]);
    await sql`update audit_chain set seq = seq - 1 where workspace_id = ${two.workspaceId} and seq > 2`;
    expect(await breaksOf(two.workspaceId)).toContain("changed 2");
  });

  test("KN30: a tail that was cut off, by a head that was kept, also after new rows took its numbers", async () => {
    const { workspaceId, head } = await givenChain();
    await sql`delete from audit_heads where workspace_id = ${workspaceId}`;
    for (const seq of [5, 4]) await removeRow(workspaceId, seq, "row and place");
    expect(await breaksOf(workspaceId)).toEqual([]);
    expect(await breaksOf(workspaceId, [head])).toEqual(["cut 4"]);
    await write(workspaceId, ["new 4", "new 5", "new 6"]);
    await sealAll();
    expect(await breaksOf(workspaceId)).toEqual([]);
    expect(await breaksOf(workspaceId, [head])).toEqual(["cut 5"]);
  });

  test("KN30: a tail that was cut off, by the head in the database, where that was left", async () => {
    const { workspaceId } = await givenChain();
    for (const seq of [5, 4]) await removeRow(workspaceId, seq, "row and place");
    expect(await breaksOf(workspaceId)).toEqual(["cut 4"]);
  });

  test("a chain that is gone altogether, by a head that was kept", async () => {
    const { workspaceId, head } = await givenChain();
    await sql`delete from audit_heads where workspace_id = ${workspaceId}`;
    for (const seq of [1, 2, 3, 4, 5]) await removeRow(workspaceId, seq, "row and place");
    expect(await breaksOf(workspaceId, [head])).toEqual(["cut 1"]);
  });

  test("a row that was put among sealed ones", async () => {
    const { workspaceId } = await givenChain();
    await sql`insert into audit (workspace_id, actor, action, xid) values (${workspaceId}, 'user:x', 'approval.decided', '3')`;
    expect(await breaksOf(workspaceId)).toEqual(["inserted ?"]);
  });

  test("a row moved to another workspace, and two rows that changed places", async () => {
    const [one, two] = [await givenChain(), await givenChain()];
    await sql`update audit set workspace_id = ${two.workspaceId}
               where id = (select audit_id from audit_chain where workspace_id = ${one.workspaceId} and seq = 3)`;
    expect(await breaksOf(one.workspaceId)).toEqual(["removed 3"]);
    await sql`update audit a set subject = b.subject from audit b
               where a.workspace_id = ${two.workspaceId} and b.workspace_id = ${two.workspaceId}
                 and (a.subject, b.subject) in (('a', 'b'), ('b', 'a'))`;
    expect(await breaksOf(two.workspaceId)).toEqual(["changed 1", "changed 2"]);
  });

  test("a hash that was made without the key, and a head", async () => {
    const { workspaceId, head } = await givenChain();
    await sql`update audit_chain set hash = sha256(hash) where workspace_id = ${workspaceId} and seq = 5`;
    expect(await breaksOf(workspaceId, [head])).toEqual(["changed 5", "cut 5"]);
    const forged = { ...head, hash: "00".repeat(32) };
    expect(await breaksOf(workspaceId, [forged])).toContain("head_not_genuine 5");
    const { key: another } = parseAuditKey(makeAuditJwk(), "another test key");
    const report = await verifyAudit(sql, another, []);
    expect(report.breaks.filter((one) => one.workspaceId === workspaceId && one.what === "other_key")).toHaveLength(5);
  });

  test("nothing in rows that no sealer has come to yet, and counts them", async () => {
    const { workspaceId } = await givenChain();
    await write(workspaceId, ["new"]);
    expect(await breaksOf(workspaceId)).toEqual([]);
    expect((await verifyAudit(sql, key, [])).unsealed).toBe(1);
    await sealAll();
  });
});

test("a head is signed once for each end of a chain, of several processes at once by one", async () => {
  const { workspaceId, head } = await givenChain();
  expect(head).toMatchObject({ seq: 5, rows: 5, keyId: key.keyId });
  expect(await signHeads(sql, key)).toEqual([]);
  await write(workspaceId, ["f"]);
  await sealAll();
  const signed = (await Promise.all([signHeads(sql, key), signHeads(sql, key)])).flat();
  expect(signed.map((one) => [one.workspaceId, one.seq])).toEqual([[workspaceId, 6]]);
  expect(await breaksOf(workspaceId, [head, ...signed])).toEqual([]);
});

test("a chain whose head cannot be stored keeps no other from its head", async () => {
  const chains = [await givenChain(), await givenChain(), await givenChain()].map(({ workspaceId }) => workspaceId);
  for (const workspaceId of chains) await write(workspaceId, ["f"]);
  await sealAll();
  const culprit = chains.toSorted()[1];
  await sql.unsafe(`alter table audit_heads add constraint refuse_one check (workspace_id <> '${culprit}') not valid`);
  const failed: string[] = [];
  const signed = await signHeads(sql, key, (workspaceId) => failed.push(workspaceId));
  await sql`alter table audit_heads drop constraint refuse_one`;
  expect(failed).toEqual([culprit]);
  expect(new Set(signed.map(({ workspaceId }) => workspaceId))).toEqual(
    new Set(chains.filter((one) => one !== culprit)),
  );
  expect((await signHeads(sql, key)).map(({ workspaceId }) => workspaceId)).toEqual([culprit]);
});

test("the export has every row as a line of JSON, sealed ones by number, then the others", async () => {
  const { workspaceId } = await givenChain();
  await write(workspaceId, ["f"]);
  const rows: Record<string, unknown>[] = [];
  for await (const line of exportAudit(sql, workspaceId)) rows.push(JSON.parse(line) as Record<string, unknown>);
  expect(rows.map(({ seq, subject }) => [seq, subject])).toEqual([
    [1, "a"],
    [2, "b"],
    [3, "c"],
    [4, "d"],
    [5, "e"],
    [null, "f"],
  ]);
  expect(rows[0]).toMatchObject({ workspaceId, actor: "system", action: "thing.done", details: '{"n":1,"o":"a"}' });
  expect(rows[0]?.["hash"]).toMatch(/^[0-9a-f]{64}$/);
  await sealAll();
});
