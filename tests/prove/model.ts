import { deepStrictEqual } from "node:assert/strict";
import { connect, type Sql } from "@countersign/db/connect.ts";
import { createCommitter } from "@countersign/engine/committer.ts";
import { claimRuns } from "@countersign/engine/commits/claim-runs.ts";
import { expireWaits } from "@countersign/engine/commits/expire-waits.ts";
import { killScope } from "@countersign/engine/commits/kill-scope.ts";
import { liftScope } from "@countersign/engine/commits/lift-scope.ts";
import { recoverRuns } from "@countersign/engine/commits/recover-runs.ts";
import { givenRun, makeWorld, toolHashes } from "@countersign/engine/testing/fixtures.ts";
import { endLease, moveDeadlines } from "@countersign/engine/testing/rows.ts";
import { findViolations } from "@countersign/engine/testing/invariants.ts";
import fc from "fast-check";
import { type Plan, plans, type Real } from "./model-acts.ts";
import { aModelRun, type ModelRun, take, viewOf, wake } from "./model-run.ts";
import type { Report } from "./report.ts";

export interface ModelOptions {
  /** An empty, migrated database, for this alone. */
  readonly url: string;
  /** How many sequences of commands. */
  readonly sequences: number;
  /** The most commands of a sequence. */
  readonly length: number;
  readonly seed: number;
  /** Where a failing sequence is, as a run before told; then only that is tried. */
  readonly path?: string | undefined;
}

/** The small model: a few runs in memory. */
interface Model {
  readonly runs: ModelRun[];
}

type Command = fc.AsyncCommand<Model, Service>;

interface Service extends Real {
  readonly sql: Sql;
  onCommand(): void;
}

const mostRuns = 5;
const maxClaims = 3;
const longLeaseMs = 3_600_000;

/**
 * Plays random sequences of commands against the service, with several runs and several callers at once through the
 * group commit, and against a model of a few hundred lines in memory. Each answer and, after each command, each run has to
 * be what the model says, and every invariant has to hold. A failing sequence is shrunk.
 */
export async function proveModel({ url, sequences, length, seed, path }: ModelOptions): Promise<Report> {
  const sql = connect(url, { max: 6, applicationName: "model" });
  const stragglers = connect(url, { max: 6, applicationName: "model, waiting" });
  let commands = 0;
  let sequencesTried = 0;
  const onCommand = (): void => {
    commands += 1;
  };
  try {
    const world = await makeWorld(sql);
    const property = fc.asyncProperty(
      fc.commands(allCommands(), { maxCommands: length, size: "max" }),
      async (some) => {
        sequencesTried += 1;
        await sql`truncate runs, audit cascade`;
        await sql`delete from policies where scope = 'run'`;
        const commit = createCommitter({ sql, stragglers, ring: () => undefined });
        const service: Service = { sql, commit, world, onCommand };
        await fc.asyncModelRun(() => ({ model: { runs: [] }, real: service }), some);
      },
    );
    const found = await fc.check(property, {
      numRuns: sequences,
      seed,
      ...(path === undefined ? {} : { path }),
      // Shrinking costs a database each time; after so many tries the sequence is small enough to read.
      endOnFailure: false,
      interruptAfterTimeLimit: 1_800_000,
      markInterruptAsFailure: true,
    });
    const why = found.errorInstance instanceof Error ? found.errorInstance.message : "";
    const violations = found.failed ? [`${fc.defaultReportMessage(found) ?? "failed"}\n${why}`] : [];
    return { counts: { sequences: sequencesTried, commands, seed }, violations };
  } finally {
    await Promise.all([sql.end({ timeout: 5 }), stragglers.end({ timeout: 5 })]);
  }
}

function allCommands(): fc.Arbitrary<Command>[] {
  const n = fc.nat(100_000);
  const which = fc.nat(mostRuns - 1);
  const names = Object.keys(plans);
  const usual = ["turn", "turn", "turn", "begin", "complete", "complete", "decide", "decide", "answer", "steer"];
  const rare = ["fail", "cancel"];
  const name = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...usual) },
    { weight: 3, arbitrary: fc.constantFrom(...names.filter((one) => !rare.includes(one))) },
    { weight: 1, arbitrary: fc.constantFrom(...rare) },
  );
  const one = fc.record({ which, name, n });
  const claim = n.map((seed) => command(`claim ${seed % 3}`, (model, service) => claimReady(model, service, seed % 3)));
  const start = fc.constant(command("start", startOne));
  return [
    start,
    claim,
    claim,
    fc.array(one, { minLength: 1, maxLength: 1 }).map(together),
    fc.array(one, { minLength: 2, maxLength: 6 }).map(together),
    fc.array(one, { minLength: 2, maxLength: 6 }).map(together),
    fc
      .record({
        which,
        name: fc.constantFrom("decide", "complete", "steer", "begin", "answer"),
        ns: fc.array(n, { minLength: 2, maxLength: 3 }),
      })
      .map(({ which: run, name: same, ns }) => together(ns.map((each) => ({ which: run, name: same, n: each })))),
    which.map((run) => command(`expire ${run}`, onRun(run, expire))),
    which.map((run) => command(`lose the lease of ${run}`, onRun(run, loseLease))),
    which.map((run) => command(`kill ${run}`, onRun(run, kill))),
    which.map((run) => command(`lift ${run}`, onRun(run, lift))),
    which.map((run) => command(`lift ${run}`, onRun(run, lift))),
  ];
}

/** A command that afterwards holds the whole record against the model. */
function command(name: string, perform: (model: Model, service: Service) => Promise<void>): Command {
  return {
    check: () => true,
    async run(model, service) {
      service.onCommand();
      await perform(model, service);
      await compare(model, service);
    },
    toString: () => name,
  };
}

interface Wanted {
  readonly which: number;
  readonly name: string;
  readonly n: number;
}

/**
 * Several callers at once. Those on one run are of one kind, since only then is it said in which order they take effect:
 * the one in which they came.
 */
function together(wanted: readonly Wanted[]): Command {
  const label = wanted.map(({ which, name, n }) => `${name} ${which} (${n})`).join(" | ");
  return command(label, async (model, service) => {
    const kindOn = new Map<string, string>();
    const sent: { name: string; expected: string; outcome: Promise<{ readonly kind: string }> }[] = [];
    const planned = wanted.flatMap(({ which, name, n }) => {
      const run = model.runs[which];
      const plan: Plan | undefined = plans[name];
      if (run === undefined || plan === undefined || (kindOn.get(run.id) ?? name) !== name) return [];
      kindOn.set(run.id, name);
      const one = plan(run, n, service);
      return one === undefined ? [] : [{ name, ...one }];
    });
    for (const { name, expected, send } of planned) sent.push({ name, expected, outcome: send(service) });
    const outcomes = await Promise.all(sent.map(({ outcome }) => outcome));
    deepStrictEqual(
      outcomes.map(({ kind }, index) => `${sent[index]?.name}: ${kind}`),
      sent.map(({ name, expected }) => `${name}: ${expected}`),
    );
  });
}

async function startOne(model: Model, { sql, world }: Service): Promise<void> {
  if (model.runs.length < mostRuns) model.runs.push(aModelRun(await givenRun(sql, world)));
}

async function claimReady(model: Model, { sql }: Service, limit: number): Promise<void> {
  const held = model.runs.flatMap((run) => {
    const hold = run.holds.at(-1);
    return run.isLeased && hold !== undefined ? [{ runId: run.id, ...hold }] : [];
  });
  const fresh = model.runs.filter((run) => run.isReady && !run.isLeased && !run.isKilled);
  const news = model.runs.filter((run) => run.isReady && run.isLeased);
  const most = limit === 0 ? 100 : limit;
  const request = { worker: "model", leaseMs: longLeaseMs, limit: most, held, tools: toolHashes };
  const claimed = await claimRuns(sql, request, (_run, error) => {
    throw error;
  });
  for (const one of claimed) {
    const id = one.kind === "claimed" ? one.snapshot.id : one.runId;
    const run = (one.kind === "claimed" ? fresh : news).find((each) => each.id === id);
    if (run === undefined) throw new Error(`the claim took ${id} (${one.kind}), which was not to be had`);
    take(run);
    if (one.kind === "claimed") run.holds.push({ epoch: one.snapshot.epoch, leaseId: one.snapshot.leaseId ?? "" });
  }
  const freshTaken = claimed.filter(({ kind }) => kind === "claimed").length;
  deepStrictEqual([freshTaken, claimed.length - freshTaken], [Math.min(fresh.length, most), news.length]);
}

function onRun(which: number, perform: (run: ModelRun, service: Service) => Promise<void>) {
  return async (model: Model, service: Service): Promise<void> => {
    const run = model.runs[which];
    if (run !== undefined) await perform(run, service);
  };
}

async function expire(run: ModelRun, { sql }: Service): Promise<void> {
  const due = run.calls.filter(({ waitsOn, hasDeadline }) => hasDeadline && waitsOn !== null && waitsOn !== "outcome");
  const mayExpire = due.length > 0 && !run.isKilled && !run.wasLifted;
  await moveDeadlines(sql, run.id, -1);
  const expired = await expireWaits(sql, 100);
  deepStrictEqual(expired.includes(run.id), mayExpire);
  if (!mayExpire) return;
  for (const call of due) {
    if (call.asked !== undefined) call.asked.status = "expired";
    call.status = call.waitsOn === "approval" ? "denied" : "done";
    call.waitsOn = null;
  }
  wake(run);
}

async function loseLease(run: ModelRun, { sql }: Service): Promise<void> {
  await endLease(sql, run.id);
  const found = await recoverRuns(sql, 100, maxClaims);
  deepStrictEqual(found.length, Number(run.isLeased));
  if (!run.isLeased) return;
  run.isLeased = false;
  run.isQuarantined = run.claims >= maxClaims;
  run.isReady = !run.isQuarantined;
}

async function kill(run: ModelRun, { sql, world }: Service): Promise<void> {
  const scope = { scope: "run", scopeId: run.id, workspaceId: world.workspaceId } as const;
  const kind = await killScope(sql, scope, world.admin, "stop");
  deepStrictEqual(kind, run.isKilled ? "already" : "killed");
  if (!run.isKilled) run.policy += 1;
  run.isKilled = true;
}

async function lift(run: ModelRun, { sql, world }: Service): Promise<void> {
  const scope = { scope: "run", scopeId: run.id, workspaceId: world.workspaceId } as const;
  const kind = await liftScope(sql, scope, world.admin);
  deepStrictEqual(kind, run.isKilled ? "lifted" : "already");
  if (!run.isKilled) return;
  run.policy += 1;
  run.isKilled = false;
  run.wasLifted = true;
}

const view = `
  select json_build_object(
           'status', r.status, 'isReady', r.ready_at is not null, 'isLeased', r.lease_id is not null, 'epoch', r.epoch,
           'turns', r.turns, 'steers', r.steers, 'unread', r.unread,
           'calls', coalesce((select json_agg(json_build_object('status', c.status, 'waitsOn', c.waits_on, 'attempt', c.attempt,
                                                                'asked', coalesce(a.status, q.status)) order by c.position)
                                from tool_calls c
                                left join approvals a on a.id = c.approval_id
                                left join questions q on q.id = c.question_id
                               where c.run_id = r.id
                                 and c.turn_seq = (select max(l.turn_seq) from tool_calls l where l.run_id = r.id)), '[]')) as view
    from unnest($1::uuid[]) with ordinality n (id, place)
    join runs r on r.id = n.id
   order by n.place`;

async function compare({ runs }: Model, { sql }: Service): Promise<void> {
  const rows = await sql.unsafe<{ view: object }[]>(view, [runs.map(({ id }) => id)], { prepare: true });
  deepStrictEqual(
    rows.map((row) => row.view),
    runs.map(viewOf),
  );
  deepStrictEqual(await findViolations(sql), []);
}
