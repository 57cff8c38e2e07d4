import { setTimeout as delay } from "node:timers/promises";
import type { Sql } from "@countersign/db/connect.ts";
import { findViolations } from "@countersign/engine/testing/invariants.ts";
import { expectedOutput } from "./scenarios.ts";
import { type Role, setStage, type Stage } from "./crash-stage.ts";
import { type Report, spread } from "./report.ts";
import type { Point } from "./tap.ts";

export interface CrashOptions {
  /** A migrated database, for this alone. */
  readonly url: string;
  /**
   * How many points to strike at, spread evenly over all of them; or `commits`, for one of each kind of the engine's
   * transactions and the mail itself; all unless given.
   */
  readonly sample?: number | "commits" | undefined;
  /** Only points of this kind. */
  readonly only?: Target | undefined;
  /** Only at messages of which this is a part, as the counting pass names them. */
  readonly at?: string | undefined;
  readonly stopsEarly?: boolean;
  /** Options of Node for the processes that are killed. */
  readonly nodeOptions?: string;
  /** Called now and then with what has been done so far. */
  readonly onProgress?: (text: string) => void;
}

/** What is counted: messages of a process to the database, or stages of a mail's delivery. */
type Target = "worker" | "server" | "mail";

interface Strike extends Point {
  readonly target: Target;
}

/** A run that is not at its end by then never will be. */
const patienceMs = 120_000;

/**
 * Kills a worker or a server with SIGKILL at every message that it sends to the database in the course of a run with
 * parallel calls, a mail that a person approves, a question and a steer, and at every stage of the mail's delivery: before
 * it is seen, and after it was answered. Another process takes over, people go on, and at the end the mail was delivered
 * once, everything else happened once, and every invariant holds. Where nobody can tell what became of the mail, a person
 * looks and says so. The points are those that a run without a kill is counted to have.
 */
export async function proveCrash(options: CrashOptions): Promise<Report> {
  const stage = await setStage(options.url, options.nodeOptions ?? "");
  const violations: string[] = [];
  const totals = { struck: 0, unreached: 0, unknowns: 0 };
  try {
    const counted = await countPoints(stage, violations);
    const all = (["worker", "server", "mail"] as const)
      .filter((target) => (options.only ?? target) === target)
      .flatMap((target) => pointsOf(target, counted[target], options.at ?? ""));
    const { sample = all.length } = options;
    const strikes = sample === "commits" ? all.filter(isCommit) : spread(all, sample);
    for (const [index, strike] of strikes.entries()) {
      const name = `killed ${strike.when} ${strike.label} number ${strike.n} of the ${strike.target}`;
      const end = await playStruck(stage, name, strike);
      totals.struck += Number(end.isStruck);
      totals.unreached += Number(!end.isStruck);
      totals.unknowns += end.unknowns;
      violations.push(
        ...end.violations.map((violation) => `${name}${end.isStruck ? "" : " (not reached)"}: ${violation}`),
      );
      if (index % 50 === 49)
        options.onProgress?.(`${index + 1} of ${strikes.length} points, ${violations.length} violations`);
      if (options.stopsEarly === true && violations.length > 0) break;
    }
    return { counts: { points: all.length, ...totals }, violations };
  } finally {
    await stage.close();
  }
}

function pointsOf(target: Target, labels: readonly string[], part: string): Strike[] {
  const counts = new Map<string, number>();
  return labels.flatMap((label) => {
    const n = (counts.get(label) ?? 0) + 1;
    counts.set(label, n);
    if (!label.includes(part)) return [];
    return (["before", "after"] as const).map((when) => ({ target, label, n, when }));
  });
}

/** Once after a commit of each kind and after the claim behind the decision, around the decision, and around the mail. */
function isCommit({ target, label, n, when }: Strike): boolean {
  if (target === "mail") return label === "message";
  if (target === "server") return label === "Q commit" && (n === 3 || (n === 1 && when === "after"));
  if (when === "before") return false;
  return label === "S claim_runs"
    ? n <= 2
    : n === 1 && ["S record_turn", "S complete_call", "Q commit"].includes(label);
}

/** One clean pass for each role; what it sent. */
async function countPoints(stage: Stage, violations: string[]): Promise<Record<Target, readonly string[]>> {
  const counted: Record<Target, readonly string[]> = { worker: [], server: [], mail: [] };
  for (const role of ["worker", "server"] as const) {
    const { violations: found, messages, mails } = await play(stage, `counting the ${role}`, role, () => undefined);
    violations.push(...found.map((violation) => `counting the ${role}: ${violation}`));
    counted[role] = messages;
    if (role === "worker") counted.mail = mails;
  }
  return counted;
}

interface End {
  readonly violations: readonly string[];
  readonly unknowns: number;
  readonly messages: readonly string[];
  readonly mails: readonly string[];
}

async function playStruck(stage: Stage, name: string, strike: Strike): Promise<End & { readonly isStruck: boolean }> {
  let isStruck = false;
  const role: Role = strike.target === "server" ? "server" : "worker";
  const end = await play(stage, name, role, (onStruck) => {
    const tap = strike.target === "mail" ? stage.mails : stage.messages;
    tap.watch(strike, () => {
      isStruck = true;
      onStruck();
    });
  });
  return { ...end, isStruck };
}

/** One run from start to end, with a victim in the given role that `aim` may have struck. */
async function play(stage: Stage, name: string, role: Role, aim: (onStruck: () => void) => void): Promise<End> {
  const { sql, server } = stage;
  const mailsBefore = stage.sink.received.length;
  // A point that was not reached lies in wait no longer: its like passes at a start, too.
  stage.messages.watch();
  stage.mails.watch();
  const victim = await stage.startVictim(role);
  let isDead = false;
  let isOver = false;
  let replacement = role === "server" ? stage.startWorker() : undefined;
  stage.messages.watch();
  stage.mails.watch();
  aim(() => {
    isDead = true;
    victim.process.signal("SIGKILL");
  });

  const addressOf = (): string => (role === "server" && !isDead ? victim.url : server.url);
  const tending = tend();
  const violations: string[] = [];
  let unknowns = 0;
  try {
    unknowns = await walkThrough(stage, name, addressOf, () => isDead);
    violations.push(...(await check(sql, name, stage.sink.received.length - mailsBefore)));
  } catch (error) {
    violations.push(error instanceof Error ? error.message : String(error));
  } finally {
    isOver = true;
    await tending;
    await victim.process.kill();
    await stage.endLeasesOf(victim);
    await (await replacement)?.stop();
  }
  return { violations, unknowns, messages: stage.messages.seen(), mails: stage.mails.seen() };

  /** What a supervisor and time would do: another worker, and the end of the dead one's leases. */
  async function tend(): Promise<void> {
    while (!isOver) {
      if (isDead && role === "worker") {
        await victim.process.kill();
        replacement ??= stage.startWorker();
        await replacement;
        await stage.endLeasesOf(victim);
      }
      await delay(20);
    }
  }
}

/** People start the run, steer it, approve, answer, and say of a mail what became of it. Answers how often they had to. */
async function walkThrough(
  stage: Stage,
  name: string,
  addressOf: () => string,
  isStruck: () => boolean,
): Promise<number> {
  const { sql } = stage;
  const mailsBefore = stage.sink.received.length;
  const ask = async (
    path: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<Record<string, unknown>> => await insistOn(() => `${addressOf()}/v1${path}`, stage.token, body, headers);
  const started = await ask(
    "/runs",
    { definition: "agent", input: "go", title: name },
    { "idempotency-key": keyOf(`start ${name}`) },
  );
  const runId = String(started["id"]);
  let unknowns = 0;
  let isSteered = false;
  for (const deadline = performance.now() + patienceMs; ; await delay(8)) {
    const [run] = await sql<{ status: string; isHeld: boolean; reason: string | null }[]>`
      select status, lease_id is not null as "isHeld", end_reason as reason from runs where id = ${runId}`;
    if (run?.status === "completed") return unknowns;
    if (run?.status === "failed" || run?.status === "canceled") throw new Error(`the run ${run.status}: ${run.reason}`);
    if (performance.now() > deadline) throw new Error(`the run is still ${run?.status} after ${patienceMs} ms`);

    const [open] = await sql<{ id: string; kind: string; version: number; digest: string }[]>`
      select id, kind, version, args_hash as digest from approvals where run_id = ${runId} and status = 'pending'`;
    if (open?.kind === "approval") {
      if (!isSteered)
        await ask(`/runs/${runId}/steer`, { message: "and be quick" }, { "idempotency-key": keyOf(`steer ${name}`) });
      isSteered = true;
      await decide(open, "approve");
    } else if (open?.kind === "outcome" && isStruck()) {
      // Whoever was sending it is dead: a person who looks now sees all that will ever be.
      unknowns += 1;
      await decide(open, stage.sink.received.length > mailsBefore ? "done" : "retry");
    } else if (open?.kind === "outcome") {
      throw new Error("the outcome is unknown although nobody was struck");
    }
    const [question] = await sql<{ card: string }[]>`
      select task_id as card from questions where run_id = ${runId} and status = 'open'`;
    if (question !== undefined)
      await ask(`/tasks/${question.card}/answer`, { answer: "blue" }, { "idempotency-key": keyOf(`answer ${name}`) });
  }

  async function decide(
    { id, version, digest }: { id: string; version: number; digest: string },
    answer: string,
  ): Promise<void> {
    const headers = { "if-match": `"${version}"`, "idempotency-key": keyOf(`${answer} ${id}`) };
    await ask(`/approvals/${id}/decision`, { answer, argsDigest: digest }, headers);
  }
}

/** Sends a request until it is answered, as a person's client would: the same key each time, over restarts. */
async function insistOn(
  addressOf: () => string,
  token: string,
  body: object,
  headers: Record<string, string>,
): Promise<Record<string, unknown>> {
  for (const deadline = performance.now() + patienceMs; performance.now() < deadline; await delay(20)) {
    try {
      const response = await fetch(addressOf(), {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
      const answer = (await response.json()) as Record<string, unknown>;
      if (response.ok) return answer;
      // The request that was cut off is worked on until the database notices; a server that stops says 5xx.
      if (response.status < 500 && answer["code"] !== "in_flight")
        throw new Refused(`${addressOf()} answered ${response.status}: ${JSON.stringify(answer)}`);
    } catch (error) {
      if (error instanceof Refused) throw error;
    }
  }
  throw new Error(`nobody answered ${addressOf()} within ${patienceMs} ms`);
}

class Refused extends Error {}

/** A key is of visible ASCII and at most 200 long. */
function keyOf(text: string): string {
  return text.replaceAll(/[^\w.-]+/g, "-").slice(0, 200);
}

/** Everything that should have happened has happened once, by the tables and by the mails that arrived. */
async function check(sql: Sql, title: string, mails: number): Promise<string[]> {
  const [found] = await sql<Record<string, number | string>[]>`
    select r.output::json #>> '{}' as output,
           (select count(*)::int from tasks t where t.kind = 'task' and t.created_by = 'run:' || r.id) as notes,
           (select count(*)::int from steers s where s.run_id = r.id and s.read_seq is not null) as steers,
           (select count(*)::int from run_log l where l.run_id = r.id and l.kind = 'user') as messages,
           (select count(*)::int from questions q where q.run_id = r.id and q.status = 'answered') as answers,
           (select count(*)::int from approvals a where a.run_id = r.id and a.kind = 'approval' and a.answer = 'approve') as decisions
      from runs r
     where r.title = ${title}`;
  const wanted = { output: expectedOutput, notes: 1, steers: 1, messages: 2, answers: 1, decisions: 1, mails: 1 };
  const seen: Record<string, unknown> = { ...found, mails };
  const wrong = Object.entries(wanted).flatMap(([key, value]) =>
    seen[key] === value ? [] : [`${key}: ${String(seen[key])} instead of ${value}`],
  );
  const broken = (await findViolations(sql)).map((violation) => JSON.stringify(violation));
  return [...wrong, ...broken];
}
