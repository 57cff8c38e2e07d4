import { setTimeout as delay } from "node:timers/promises";
import { findViolations } from "@countersign/engine/testing/invariants.ts";
import { type Member, startTroupe, type Troupe } from "./chaos-troupe.ts";
import type { Report } from "./report.ts";

export interface ChaosOptions {
  readonly runs: number;
  /** Decides which mischief comes when. */
  readonly seed: number;
  readonly onProgress?: (text: string) => void;
}

/** How many people start runs, and decide, at the same time. */
const people = 6;

/** So many runs are started at most for each disturbance. */
const mostPerRound = 40;

/** A lease is over well within this. */
const pastLeaseMs = 3_000;

/** How long everything may take to come to its end once nobody disturbs it any more. */
const patienceMs = 120_000;

/**
 * Two servers and three workers take so many runs, each with a mail that a person approves, through everything that can go
 * wrong around them: the database stops, in good order and not; processes are killed, and stopped past their leases and
 * continued; connections are cut, slow, and silent; answers to commits get lost; clocks are five minutes off. At the end
 * every run has completed and every mail was delivered once. Where nobody can tell what became of one, a person looks.
 */
export async function proveChaos({ runs, seed, onProgress = () => undefined }: ChaosOptions): Promise<Report> {
  const troupe = await startTroupe();
  try {
    // A mail takes a moment to be taken, so that some are under way whenever something happens.
    troupe.sink.onReceived = () => delay(30);
    const load = createLoad(troupe, runs);
    const done = load.play();
    let isLoadDone = false;
    void done.finally(() => {
      isLoadDone = true;
    });
    const told: Record<string, number> = {};
    const random = createRandom(seed);
    // Each once, then as long as there is something to disturb.
    const names = Object.keys(mischief);
    const rounds = Math.max(names.length, Math.ceil(runs / mostPerRound));
    for (let round = 0; round < rounds || !isLoadDone; round += 1) {
      load.release(Math.ceil((runs * (round + 1)) / rounds));
      await delay(random() * 150);
      const name = (round < names.length ? names[round] : names[Math.floor(random() * names.length)]) ?? "";
      await mischief[name]?.(troupe, random);
      told[name] = (told[name] ?? 0) + 1;
      if (round % 10 === 9) onProgress(`${round + 1} disturbances; ${load.progress()}`);
      await delay(random() * 300);
    }
    await done;
    const unknowns = await comeToAnEnd(troupe, runs, load);
    const violations = [...troupe.fallen(), ...(await check(troupe, runs))];
    const disturbances = Object.entries(told).map(([name, times]) => `${name} ${times}`);
    const counts = {
      runs,
      unknowns,
      "replies lost": troupe.proxy.dropped(),
      disturbances: disturbances.join(" · "),
      seed,
    };
    return { counts, violations };
  } finally {
    await troupe.close();
  }
}

type Mischief = (troupe: Troupe, random: () => number) => Promise<void>;

const mischief: Readonly<Record<string, Mischief>> = {
  "database stopped": async (troupe) => {
    await troupe.postgres.stop("fast");
    await troupe.bringBack();
  },
  "worker killed": async (troupe, random) => await killOne(troupe, "worker", random),
  "replies dropped": async ({ proxy }) => proxy.dropReplies(5),
  "connections cut": async ({ proxy }) => proxy.cut(),
  "database crashed": async (troupe) => {
    await troupe.postgres.stop("immediate");
    await troupe.bringBack();
  },
  "worker stopped past its lease": async (troupe, random) => {
    const member = oneOf(troupe, "worker", random);
    member.process.signal("SIGSTOP");
    await delay(pastLeaseMs);
    member.process.signal("SIGCONT");
  },
  "connections silent": async ({ proxy }) => {
    proxy.swallow();
    await delay(pastLeaseMs);
  },
  "everything slow": async ({ proxy }) => {
    proxy.delay(40);
    await delay(1_500);
    proxy.delay(0);
  },
  "server killed": async (troupe, random) => await killOne(troupe, "server", random),
  "worker killed in a crash of the database": async (troupe, random) => {
    const victim = oneOf(troupe, "worker", random);
    await Promise.all([troupe.kill(victim), troupe.postgres.stop("immediate")]);
    await troupe.bringBack();
    await troupe.replace(victim);
  },
};

function oneOf({ members }: Troupe, role: Member["role"], random: () => number): Member {
  const some = members.filter((member) => member.role === role);
  const member = some[Math.floor(random() * some.length)];
  if (member === undefined) throw new Error(`there is no ${role}`);
  return member;
}

async function killOne(troupe: Troupe, role: Member["role"], random: () => number): Promise<void> {
  const member = oneOf(troupe, role, random);
  await troupe.kill(member);
  await troupe.replace(member);
}

/** The same numbers for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Pending {
  readonly id: string;
  readonly version: number;
  readonly digest: string;
}

/** People start every run and decide every approval, asking again until they are answered. */
function createLoad(troupe: Troupe, runs: number) {
  const { sql } = troupe;
  const servers = troupe.members.filter(({ role }) => role === "server");
  let asked = 0;
  let started = 0;
  let decided = 0;
  let released = 0;

  /** Until it is answered, each time another server. A refusal that says it is done already is an answer. */
  async function insistOn(
    path: string,
    key: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<void> {
    for (;;) {
      const server = servers[(asked += 1) % servers.length];
      try {
        const response = await fetch(`${server?.url ?? ""}/v1${path}`, {
          method: "POST",
          headers: {
            authorization: `Bearer ${troupe.token}`,
            "content-type": "application/json",
            "idempotency-key": key,
            ...headers,
          },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(10_000),
        });
        const answer = (await response.json()) as { code?: string };
        if (response.ok || answer.code === "already_decided") return;
        if (response.status < 500 && answer.code !== "in_flight")
          throw new Refused(`${path} was answered ${response.status}: ${JSON.stringify(answer)}`);
      } catch (error) {
        if (error instanceof Refused) throw error;
      }
      await delay(50);
    }
  }

  async function startAll(): Promise<void> {
    for (;;) {
      const n = started;
      if (n >= runs) return;
      if (n >= released) {
        await delay(10);
        continue;
      }
      started += 1;
      await insistOn("/runs", `run-${n}`, { definition: "agent", input: "go", title: `run ${n}` });
    }
  }

  async function decide({ id, version, digest }: Pending, answer: string): Promise<void> {
    const headers = { "if-match": `"${version}"` };
    await insistOn(`/approvals/${id}/decision`, `${answer}-${id}`, { answer, argsDigest: digest }, headers);
  }

  /** One person: decides what lies before them, one at a time, in no order. */
  async function decideSome(): Promise<void> {
    while (decided < runs) {
      const [one] = await patiently(
        () => sql<Pending[]>`
          select id, version, args_hash as digest from approvals where kind = 'approval' and status = 'pending'
           order by random() limit 1`,
      );
      if (one !== undefined) await decide(one, "approve");
      const [row] = await patiently(
        () =>
          // What ended before anybody was asked is never decided; the check at the end tells of it.
          sql<{ n: number }[]>`
            select ((select count(*) from approvals where kind = 'approval' and status <> 'pending')
                    + (select count(*) from runs r
                        where r.finished_at is not null
                          and not exists (select 1 from approvals a where a.run_id = r.id)))::int as n`,
      );
      decided = row?.n ?? 0;
      if (one === undefined) await delay(40);
    }
  }

  return {
    decide,
    /** Lets so many runs be started, counted from the first. */
    release(upTo: number): void {
      released = upTo;
    },
    progress: () => `${started} of ${runs} started, ${decided} decided`,
    async play(): Promise<void> {
      await Promise.all(Array.from({ length: people }, async () => await Promise.all([startAll(), decideSome()])));
    },
  };
}

class Refused extends Error {}

/** A read of ours, as often as the database is away. */
async function patiently<T>(read: () => PromiseLike<T>): Promise<T> {
  for (const deadline = performance.now() + 60_000; ; await delay(50)) {
    try {
      return await read();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
  }
}

/** Undisturbed now, every run comes to its end; people say what became of the mails of which nobody knows. */
async function comeToAnEnd(troupe: Troupe, runs: number, load: ReturnType<typeof createLoad>): Promise<number> {
  const { sql, sink } = troupe;
  let unknowns = 0;
  for (const deadline = performance.now() + patienceMs; performance.now() < deadline; await delay(100)) {
    const [left] = await patiently(
      () => sql<{ moving: number; over: number }[]>`
        select count(*) filter (where status not in ('completed', 'failed', 'canceled') and waits_on is distinct from 'outcome')::int as moving,
               count(*) filter (where status in ('completed', 'failed', 'canceled'))::int as over
          from runs`,
    );
    if (left?.over === runs) return unknowns;
    // Only once nothing moves any more do the mails that arrived say all.
    if (left?.moving !== 0) continue;
    const open = await patiently(
      () => sql<(Pending & { callId: string })[]>`
        select id, version, args_hash as digest, call_id as "callId" from approvals where kind = 'outcome' and status = 'pending' limit 100`,
    );
    unknowns += open.length;
    const arrived = (callId: string): boolean => sink.received.some((messageId) => messageId.includes(callId));
    await Promise.all(open.map(async (one) => await load.decide(one, arrived(one.callId) ? "done" : "retry")));
  }
  return unknowns;
}

async function check({ sql, sink }: Troupe, runs: number): Promise<string[]> {
  const rows = await patiently(
    () => sql<{ runId: string; status: string; waitsOn: string | null; callId: string | null }[]>`
      select r.id as "runId", r.status, r.waits_on as "waitsOn", c.id as "callId" from runs r left join tool_calls c on c.run_id = r.id`,
  );
  const mails = new Map<string, number>();
  for (const messageId of sink.received) {
    const callId = /^<([^@]+)@/.exec(messageId)?.[1] ?? messageId;
    mails.set(callId, (mails.get(callId) ?? 0) + 1);
  }
  const violations = rows.flatMap(({ runId, status, waitsOn, callId }) => {
    const count = mails.get(callId ?? "") ?? 0;
    if (status !== "completed") return [`run ${runId} is ${status}${waitsOn === null ? "" : ` on ${waitsOn}`}`];
    return count === 1 ? [] : [`the mail of run ${runId} arrived ${count} times`];
  });
  if (rows.length !== runs) violations.push(`there are ${rows.length} runs with a call each instead of ${runs}`);
  if (sink.received.length !== runs) violations.push(`${sink.received.length} mails arrived instead of ${runs}`);
  const broken = (await patiently(() => findViolations(sql))).map((violation) => JSON.stringify(violation));
  return [...violations, ...broken];
}
