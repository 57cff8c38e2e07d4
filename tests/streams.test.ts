import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { givenRun } from "@countersign/engine/testing/fixtures.ts";
import { readEvents, type EventReader } from "@countersign/server/testing/event-reader.ts";
import { givenPeople } from "@countersign/server/testing/harness.ts";
import { expect, test } from "vitest";
import { startProcess, type TestProcess } from "./support/processes.ts";

const { sql, url } = await testDatabase();
const megabyte = 1024 * 1024;

/** What a process and all its children hold in memory. */
function residentMb(pid: number): number {
  const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );
  return (Number(resident) * 1024) / megabyte + children.reduce((sum, child) => sum + residentMb(child), 0);
}

async function startServer(environment: Record<string, string> = {}): Promise<{ process: TestProcess; url: string }> {
  const script = join(import.meta.dirname, "../apps/server/src/main.ts");
  const server = startProcess(script, { DATABASE_URL: url, PORT: "0", ...environment });
  const at = await server.waitFor((line) => (line["msg"] === "listening" ? String(line["url"]) : undefined));
  return { process: server, url: at };
}

async function addLine(runId: string): Promise<void> {
  await sql.unsafe(
    `with r as (update runs set last_seq = last_seq + 1 where id = $1::uuid returning last_seq)
     insert into run_log (run_id, seq, kind, content) select $1::uuid, r.last_seq, 'note', '""' from r`,
    [runId],
  );
}

function seqsOf(reader: EventReader): number[] {
  return reader.events.flatMap(({ event, data }) => (event === "line" ? [(data as { seq: number }).seq] : []));
}

test("a server that is killed in mid-stream loses no line and tells none twice: the next one goes on", async () => {
  const world = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  const first = await startServer();
  const open = async (at: string, lastEventId?: string): Promise<EventReader> =>
    await readEvents(
      `${at}/v1/runs/${runId}/events`,
      world.tokens.viewer,
      lastEventId === undefined ? {} : { lastEventId },
    );
  const reader = await open(first.url);
  for (let n = 0; n < 5; n += 1) await addLine(runId);
  await reader.until(() => seqsOf(reader).length >= 3);
  await first.process.kill();
  await reader.ended;
  for (let n = 0; n < 5; n += 1) await addLine(runId);

  const second = await startServer();
  const again = await open(second.url, reader.lastEventId());
  await again.until(() => seqsOf(reader).length + seqsOf(again).length >= 11);
  expect([...seqsOf(reader), ...seqsOf(again)]).toEqual(Array.from({ length: 11 }, (_, index) => index + 1));
  again.close();
  await second.process.stop();
});

test("server and worker stay under 200 MB each when idle, and 450 MB together with 1,000 open streams, at few queries", async () => {
  const world = await givenPeople(sql);
  const dataDir = mkdtempSync(join(tmpdir(), "countersign-streams-"));
  const { process: server, url: at } = await startServer({ COUNTERSIGN_DATA: dataDir, RATE_BURST: "5000" });
  const script = join(import.meta.dirname, "../apps/worker/src/main.ts");
  const worker = startProcess(script, { DATABASE_URL: url, COUNTERSIGN_DATA: dataDir, PROVIDERS: "fake" });
  await worker.waitFor((line) => (line["msg"] === "ready" ? true : undefined));
  const settle = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const transactions = async (): Promise<number> => {
    const [row] = await sql<{ n: number }[]>`
      select pg_stat_clear_snapshot(), (select xact_commit + xact_rollback from pg_stat_database where datname = current_database()) as n`;
    return row?.n ?? 0;
  };
  const queriesPerSecond = async (seconds: number): Promise<number> => {
    const before = await transactions();
    await settle(seconds * 1_000);
    return ((await transactions()) - before) / seconds;
  };

  await settle(11_000);
  const idle = { server: residentMb(server.pid), worker: residentMb(worker.pid), queries: await queriesPerSecond(8) };
  // Runs that no worker takes up, so that nothing happens but what the test does.
  const runs = await sql<{ id: string }[]>`
    insert into runs (id, workspace_id, definition_id, definition_version, root_id, depth, started_by, title, grants, status, waits_on, quarantined_at)
    select id, ${world.workspaceId}, ${world.definitionId}, 1, id, 0, ${world.operator}, 'a run', '{}', 'paused', 'quarantine', now()
      from (select gen_random_uuid() as id from generate_series(1, 20)) n returning id`;
  const readers: EventReader[] = [];
  for (let batch = 0; batch < 20; batch += 1) {
    readers.push(
      ...(await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          readEvents(
            n % 2 === 0 ? `${at}/v1/events` : `${at}/v1/runs/${runs[n % runs.length]?.id}/events`,
            world.tokens.viewer,
          ),
        ),
      )),
    );
  }
  await Promise.all(readers.map((reader) => reader.until((events) => events.length > 0, 30_000)));
  // Backends report what they did up to ten seconds late.
  await settle(11_000);
  const open = { server: residentMb(server.pid), worker: residentMb(worker.pid), queries: await queriesPerSecond(8) };

  const beganAt = performance.now();
  await addLine(runs[0]?.id ?? "");
  const workspaces = readers.filter((_, n) => n % 2 === 0);
  await Promise.all(
    workspaces.map((reader) => reader.until((events) => events.some(({ event }) => event === "changes"), 30_000)),
  );
  const toldMs = performance.now() - beganAt;

  const show = ({ server: s, worker: w, queries }: typeof idle) =>
    `server ${s.toFixed(0)} MB, worker ${w.toFixed(0)} MB, together ${(s + w).toFixed(0)} MB, ${queries.toFixed(1)} transactions/s`;
  console.log(`idle: ${show(idle)}`);
  console.log(
    `1,000 open streams: ${show(open)}; ${workspaces.length} were told of a change within ${toldMs.toFixed(0)} ms`,
  );
  for (const reader of readers) reader.close();
  await Promise.all([server.stop(), worker.stop()]);
  expect(idle.server).toBeLessThan(200);
  expect(idle.worker).toBeLessThan(200);
  expect(open.server + open.worker).toBeLessThan(450);
  expect(idle.queries).toBeLessThan(20);
  expect(open.queries).toBeLessThan(20);
});
