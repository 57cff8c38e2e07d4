import type { Sql } from "@countersign/db/connect.ts";
import { togetherOrAlone } from "@countersign/engine/together.ts";
import { PgBoss, type Queue } from "pg-boss";
import type { Logger } from "pino";
import { describeError } from "./report.ts";

export type { PgBoss } from "pg-boss";

/** Rows that are worked on one job each; the row says what is to be done, and its job has the row's id. */
export interface RowQueue {
  readonly name: string;
  readonly table: "webhook_deliveries" | "captures";
}

/** What takes jobs. */
type Taker = Pick<PgBoss, "insert" | "findJobs">;

/** How long a row's job may be neither waiting nor under way before it counts as lost. */
const lostAfter = "10 minutes";

/** The queue of this database, started: it keeps two sessions of its own, past any pooler. */
export async function startQueue(databaseDirectUrl: string, log: Logger): Promise<PgBoss> {
  const boss = new PgBoss({
    connectionString: databaseDirectUrl,
    application_name: "countersign worker, queue",
    max: 2,
    registerInstance: false,
    persistWarnings: false,
  });
  boss.on("error", (error) => log.warn({ error: describeError(error, log) }, "the queue failed; it goes on by itself"));
  boss.on("warning", ({ message }) => log.warn({ warning: message }, "the queue warns"));
  await boss.start();
  return boss;
}

/**
 * Afterwards the queue is there, with these settings, also where another version had made it. Always of the policy
 * `standard`: under the others a job that is to be tried again and a new one of the same key stand in each other's way, and
 * with them every job behind.
 */
export async function openQueue(
  boss: PgBoss,
  name: string,
  settings: Omit<Queue, "name" | "policy" | "partition" | "deadLetter">,
): Promise<void> {
  await boss.createQueue(name, { ...settings, policy: "standard" });
  const { policy } = (await boss.getQueue(name)) ?? {};
  if (policy !== "standard")
    throw new Error(`The queue ${name} has the policy ${policy}; it needs standard. Delete it.`);
  await boss.updateQueue(name, settings);
}

/**
 * Hands rows that no job knows of to the queue, a hundred at a time. One that is handed over twice is there once. One that
 * cannot be handed over keeps no other, and its error is thrown at the end.
 */
export async function queueRows(sql: Sql, boss: Taker, { name, table }: RowQueue): Promise<void> {
  const read = async (limit: number): Promise<string[]> => {
    const rows = await sql.unsafe<{ id: string }[]>(
      `select id from ${table} where queued_at is null order by id limit $1`,
      [limit],
      { prepare: true },
    );
    return rows.map(({ id }) => id);
  };
  const hand = async (ids: string[]): Promise<readonly string[]> => {
    if (ids.length === 0) return ids;
    await handOver(boss, name, ids);
    await sql.unsafe(`update ${table} set queued_at = clock_timestamp() where id = any ($1::uuid[])`, [ids], {
      prepare: true,
    });
    return ids;
  };
  for (;;) {
    const done = await togetherOrAlone({
      together: async () => await hand(await read(100)),
      members: () => read(1_000),
      alone: (id) => hand([id]),
    });
    if (done.length < 100) return;
  }
}

/**
 * Afterwards each id has its job. The queue says of an id that it made no job for it where there is one, and also where it
 * lost it; only the first is as it should be. Throws otherwise, and the rows are handed over again.
 */
export async function handOver(boss: Taker, queue: string, ids: readonly string[]): Promise<void> {
  const jobs = ids.map((id) => ({ id, data: { id } }));
  const made = new Set(await boss.insert(queue, jobs, { returnId: true }));
  for (const id of ids.filter((one) => !made.has(one))) {
    const [known] = await boss.findJobs(queue, { id });
    if (known === undefined) throw new Error(`The queue ${queue} took no job for ${id}, and has none.`);
  }
}

/**
 * Finds rows that still wait although their job came to an end without them, or is gone, and has them handed over again:
 * what stands in a row happens, whatever became of the hint.
 */
export async function findLostRows(sql: Sql, { name, table }: RowQueue): Promise<number> {
  const rows = await sql.unsafe(
    `with lost as (
       select r.id from ${table} r
        where r.status = 'pending' and r.queued_at < clock_timestamp() - interval '${lostAfter}'
          and not exists (select from pgboss.job j where j.name = $1 and j.id = r.id and j.state < 'completed')
        order by r.queued_at limit 100 for no key update skip locked),
     ended as (
       delete from pgboss.job j using lost where j.name = $1 and j.id = lost.id)
     update ${table} r set queued_at = null from lost where r.id = lost.id
     returning r.id`,
    [name],
  );
  return rows.length;
}
