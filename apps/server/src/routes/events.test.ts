import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { decideApproval } from "@countersign/engine/commits/decide-approval.ts";
import { recordTurn } from "@countersign/engine/commits/record-turn.ts";
import { aDecision, aTurn, claimRun, givenGatedRun, givenRun } from "@countersign/engine/testing/fixtures.ts";
import pino from "pino";
import { afterAll, expect, test } from "vitest";
import { createEvents, type Events } from "../events/events.ts";
import type { WorkspaceChanges } from "../events/workspace-stream.ts";
import { type EventReader, type ReceivedEvent, readEvents } from "../testing/event-reader.ts";
import { givenPeople, send, startTestServer, type TestServer } from "../testing/harness.ts";

const { sql, url } = await testDatabase();
const log = pino({ level: "silent" });
const quick = createEvents({ sql, log, pollMs: 30, pingMs: 100 });
const server = await startTestServer(url, { events: quick });
afterAll(() => server.stop());

interface Line {
  readonly seq: number;
  readonly kind: string;
}

function linesOf(events: readonly ReceivedEvent[]): Line[] {
  return events.flatMap(({ event, data }) => (event === "line" ? [data as Line] : []));
}

function seqsOf(events: readonly ReceivedEvent[]): number[] {
  return linesOf(events).map(({ seq }) => seq);
}

function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}

/** Adds lines to a run's log as a commit does, under the run's lock. */
async function addLines(runId: string, count: number): Promise<void> {
  await sql.unsafe(
    `with r as (update runs set last_seq = last_seq + $2::int where id = $1::uuid returning last_seq)
     insert into run_log (run_id, seq, kind, content)
     select $1::uuid, r.last_seq - $2::int + n, 'note', to_json(n)::text from r, generate_series(1, $2::int) n`,
    [runId, count],
  );
}

const openRun = async (
  at: Pick<TestServer, "url">,
  token: string,
  runId: string,
  lastEventId?: string,
): Promise<EventReader> =>
  await readEvents(`${at.url}/v1/runs/${runId}/events`, token, lastEventId === undefined ? {} : { lastEventId });

const openWorkspace = async (at: Pick<TestServer, "url">, token: string, lastEventId?: string): Promise<EventReader> =>
  await readEvents(`${at.url}/v1/events`, token, lastEventId === undefined ? {} : { lastEventId });

test("a run's stream tells each line once and in order, how it stands, and ends with the run", async () => {
  const world = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  const reader = await openRun(server, world.tokens.viewer, runId);
  expect(reader.status).toBe(200);
  expect(reader.headers.get("content-type")).toMatch(/^text\/event-stream/);
  expect(reader.headers.get("x-accel-buffering")).toBe("no");
  expect(reader.headers.get("cache-control")).toContain("no-transform");
  await reader.until((events) =>
    events.some(({ event, data }) => event === "status" && (data as Line & { status: string }).status === "queued"),
  );

  const hold = await claimRun(sql, runId);
  await reader.until((events) => events.some(({ data }) => (data as { status?: string }).status === "running"));
  await commitWithin(sql, recordTurn, aTurn(hold, { output: '"done"' }));
  const events = await reader.until((all) => all.at(-1)?.event === "end");
  await reader.ended;
  expect(seqsOf(events)).toEqual([1, 2, 3]);
  expect(linesOf(events).map(({ kind }) => kind)).toEqual(["user", "assistant", "run.ended"]);
  expect(events.at(-1)?.data).toEqual({ status: "completed", waitsOn: null, heldBy: null });

  const again = await openRun(server, world.tokens.viewer, runId, "1");
  await again.ended;
  expect(seqsOf(again.events)).toEqual([2, 3]);
  expect((await openRun(server, world.tokens.viewer, runId, "3")).status).toBe(204);
});

test("a switch that holds the run, and its lift, are told although they touch no row of it", async () => {
  const world = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  const reader = await openRun(server, world.tokens.viewer, runId);
  await reader.until((events) => events.length === 2);
  const scope = { scope: "workspace", id: world.workspaceId };
  expect(
    (await send(server, world.tokens.admin, "POST", "/v1/kill", { body: { ...scope, reason: "stop" } })).status,
  ).toBe(200);
  await reader.until((events) => (events.at(-1)?.data as { waitsOn?: string } | undefined)?.waitsOn === "kill");
  expect(reader.events.at(-1)?.data).toMatchObject({ heldBy: { scope: "workspace", reason: "stop" } });
  expect((await send(server, world.tokens.admin, "POST", "/v1/lift", { body: scope })).status).toBe(200);
  await reader.until((events) => (events.at(-1)?.data as { status?: string } | undefined)?.status === "queued");
  reader.close();
});

test("a run of another workspace, an unknown one and no token are refused before the stream opens", async () => {
  const world = await givenPeople(sql);
  const other = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  expect((await openRun(server, other.tokens.admin, runId)).status).toBe(404);
  expect((await openRun(server, "cs_nobody", runId)).status).toBe(401);
  expect((await openWorkspace(server, "cs_nobody")).status).toBe(401);
  const head = await fetch(`${server.url}/v1/events`, {
    method: "HEAD",
    headers: { authorization: `Bearer ${world.tokens.viewer}` },
  });
  expect(head.status).toBe(200);
  expect(quick.watching()).toBe(0);
});

test("a workspace's stream names what changed in it and nothing of others", async () => {
  const world = await givenPeople(sql);
  const other = await givenPeople(sql);
  const reader = await openWorkspace(server, world.tokens.viewer);
  await reader.until((events) => events[0]?.event === "ready");
  await givenGatedRun(sql, other);
  const asked = await givenGatedRun(sql, world);
  await reader.until((events) => changesOf(events).tasks.length > 0);
  await commitWithin(sql, decideApproval, aDecision(world, asked));
  await reader.until((events) =>
    events.filter(({ event }) => event === "changes").some(({ data }) => (data as WorkspaceChanges).tasks.length > 0),
  );
  const told = changesOf(reader.events);
  expect(new Set(told.runs)).toEqual(new Set([asked.runId]));
  expect(new Set(told.tasks.map(({ runId }) => runId))).toEqual(new Set([asked.runId]));
  reader.close();
});

function changesOf(events: readonly ReceivedEvent[]): { runs: string[]; tasks: { runId: string | null }[] } {
  const all = events.flatMap(({ event, data }) => (event === "changes" ? [data as WorkspaceChanges] : []));
  return { runs: all.flatMap(({ runs }) => runs), tasks: all.flatMap(({ tasks }) => tasks) };
}

test("UI26: of two transactions that commit the other way round both are told, also across a reconnect between them", async () => {
  const world = await givenPeople(sql);
  const [first, second] = [await givenRun(sql, world), await givenRun(sql, world)];
  const reader = await openWorkspace(server, world.tokens.viewer);
  await reader.until((events) => events[0]?.event === "ready");

  const taken = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const slow = transaction(sql, async (tx) => {
    await tx.unsafe("update runs set last_seq = last_seq + 1 where id = $1::uuid", [first]);
    taken.resolve();
    await go.promise;
  });
  await taken.promise;
  await addLines(second, 1);
  await reader.until((events) => changesOf(events).runs.includes(second));
  const lastEventId = reader.lastEventId();
  reader.close();
  await reader.ended;
  go.resolve();
  await slow;

  const again = await openWorkspace(server, world.tokens.viewer, lastEventId);
  await again.until((events) => changesOf(events).runs.includes(first));
  await addLines(second, 1);
  await again.until((events) => changesOf(events).runs.includes(second));
  expect(changesOf(reader.events).runs).toEqual([second]);
  expect(changesOf(again.events).runs).toEqual([first, second]);
  again.close();
});

test("a reader too far behind, ahead, or with an id of nobody's is told to read everything again", async () => {
  const world = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  for (const id of ["nonsense", "1:1:", "900000000000:900000000000:"]) {
    const reader = await openWorkspace(server, world.tokens.viewer, id);
    const events = await reader.until((all) => all.length > 0);
    expect(events[0]?.event).toBe(id === "1:1:" ? events[0]?.event : "resync");
    reader.close();
  }
  const ahead = await openRun(server, world.tokens.viewer, runId, "77");
  expect((await ahead.until((events) => events.length === 2)).map(({ event }) => event)).toEqual(["resync", "status"]);
  await addLines(runId, 1);
  await ahead.until((events) => seqsOf(events).length === 1);
  expect(seqsOf(ahead.events)).toEqual([2]);
  ahead.close();

  await addLines(runId, 10_001);
  const behind = await openRun(server, world.tokens.viewer, runId, "1");
  await behind.until((events) => events[0]?.event === "resync");
  expect(behind.lastEventId()).toBe("10003");
  behind.close();
});

test("a run that writes while a reader comes and goes: no gap and no double, whatever was cut", async () => {
  const world = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  let isWriting = true;
  const writing = (async () => {
    for (let n = 0; n < 60; n += 1) await addLines(runId, 3);
    isWriting = false;
  })();
  const got: number[] = [];
  let lastEventId: string | undefined;
  while (isWriting || got.length < 181) {
    const reader = await openRun(server, world.tokens.viewer, runId, lastEventId);
    const enough = Math.min(181 - got.length, 7);
    await reader.until((events) => linesOf(events).length >= enough);
    reader.close();
    await reader.ended;
    got.push(...seqsOf(reader.events));
    lastEventId = reader.lastEventId();
  }
  await writing;
  expect(got).toEqual(upTo(181));
});

/** A proxy that holds back what it gets, hands it on in pieces of odd sizes, and breaks off in the middle of one. */
async function startBufferingProxy(to: string, breaksAfter: number): Promise<{ url: string; server: Server }> {
  const proxy = createServer((incoming, outgoing) => {
    const upstream = request(`${to}${incoming.url ?? ""}`, {
      headers: { ...incoming.headers, host: new URL(to).host },
    });
    upstream.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      let held = Buffer.alloc(0);
      let sent = 0;
      answer.on("data", (chunk: Buffer) => {
        held = Buffer.concat([held, chunk]);
        while (held.length >= 333 && sent <= breaksAfter) {
          sent += 333;
          const isLast = sent > breaksAfter;
          outgoing.write(held.subarray(0, 333), () => isLast && outgoing.destroy());
          held = held.subarray(333);
        }
      });
      answer.on("error", () => outgoing.destroy());
    });
    outgoing.on("close", () => upstream.destroy());
    upstream.on("error", () => outgoing.destroy());
    upstream.end();
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, server: proxy };
}

test("through a proxy that buffers and breaks off in mid-event a reader loses nothing and gets nothing twice", async () => {
  const world = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  await addLines(runId, 199);
  const proxy = await startBufferingProxy(server.url, 6_000);
  const got: number[] = [];
  let lastEventId: string | undefined;
  let connects = 0;
  while (got.length < 200) {
    connects += 1;
    const reader = await openRun(proxy, world.tokens.viewer, runId, lastEventId);
    // What the proxy holds back at the end comes out with the signs of life that push it.
    await Promise.race([
      reader.ended,
      reader.until((events) => got.length + linesOf(events).length >= 200).catch(() => undefined),
    ]);
    reader.close();
    await reader.ended;
    got.push(...seqsOf(reader.events));
    lastEventId = reader.lastEventId();
  }
  expect(got).toEqual(upTo(200));
  expect(connects).toBeGreaterThan(2);
  proxy.server.close();
  proxy.server.closeAllConnections();
});

test("a stream whose token is revoked ends; a server that stops ends them all", async () => {
  const world = await givenPeople(sql);
  const own = createEvents({ sql, log, pollMs: 30, pingMs: 60 });
  const other = await startTestServer(url, { events: own });
  const runId = await givenRun(sql, world);
  const [doomed, kept] = [
    await openRun(other, world.tokens.operator, runId),
    await openRun(other, world.tokens.viewer, runId),
  ];
  await Promise.all([doomed, kept].map((reader) => reader.until((events) => events.length === 2)));
  await sql`update tokens set revoked_at = clock_timestamp() where user_id = ${world.operator}`;
  await doomed.ended;
  expect(own.watching()).toBe(1);
  await other.stop();
  await kept.ended;
  expect(own.watching()).toBe(0);
});

test("who may do more or less than when the stream began is told to read everything again, once, and nobody else is", async () => {
  const world = await givenPeople(sql);
  const own = createEvents({ sql, log, pollMs: 30, pingMs: 60 });
  const other = await startTestServer(url, { events: own });
  const [changed, kept] = [
    await openWorkspace(other, world.tokens.approver),
    await openWorkspace(other, world.tokens.viewer),
  ];
  const hasResync = (events: readonly { readonly event: string }[]): boolean =>
    events.some(({ event }) => event === "resync");
  await Promise.all([changed, kept].map((reader) => reader.until((events) => events.length > 0)));
  await sql`update users set role = 'viewer' where id = ${world.approver}`;
  await changed.until(hasResync);
  const pings = changed.pings();
  await expect.poll(() => changed.pings(), { timeout: 45_000 }).toBeGreaterThan(pings + 3);
  expect(changed.events.filter(({ event }) => event === "resync")).toHaveLength(1);
  expect(hasResync(kept.events)).toBe(false);
  await other.stop();
});

test("UI25: 500 connects and aborts leave no watcher behind, and no memory", async () => {
  const world = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  const connectMany = async (): Promise<void> => {
    for (let batch = 0; batch < 10; batch += 1) {
      await Promise.all(
        Array.from({ length: 50 }, async (_, n) => {
          const reader =
            n % 2 === 0
              ? await openRun(server, world.tokens.viewer, runId)
              : await openWorkspace(server, world.tokens.viewer);
          expect(reader.status).toBe(200);
          // Some leave before they have read anything.
          if (n % 5 !== 0) await reader.until((events) => events.length > 0);
          reader.close();
          await reader.ended;
        }),
      );
    }
    await expect.poll(() => quick.watching()).toBe(0);
  };
  await connectMany();
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  await connectMany();
  globalThis.gc?.();
  const grownMb = (process.memoryUsage().heapUsed - before) / 1e6;
  // Without a forced collection garbage is counted too, so the bar is only for what grows without end.
  expect(grownMb).toBeLessThan(60);
});

test("open streams that nobody writes to cost no query of their own", async () => {
  const world = await givenPeople(sql);
  const runs = await Promise.all(Array.from({ length: 20 }, () => givenRun(sql, world)));
  let queries = 0;
  const counting = new Proxy(sql, {
    get(target, name, receiver) {
      if (name === "unsafe") queries += 1;
      return Reflect.get(target, name, receiver) as unknown;
    },
  });
  const own: Events = createEvents({ sql: counting, log, pollMs: 100, pingMs: 200 });
  const other = await startTestServer(url, { events: own });
  const readers = await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      n % 2 === 0 ? openRun(other, world.tokens.viewer, runs[n / 2] ?? "") : openWorkspace(other, world.tokens.viewer),
    ),
  );
  await Promise.all(readers.map((reader) => reader.until((events) => events.length > 0)));
  queries = 0;
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  // Ten looks, and with each of five signs of life whether the tokens still count.
  expect(queries).toBeLessThanOrEqual(17);
  expect(readers.every((reader) => reader.pings() > 1)).toBe(true);
  for (const reader of readers) reader.close();
  await expect.poll(() => own.watching()).toBe(0);
  queries = 0;
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(queries).toBe(0);
  await other.stop();
});
