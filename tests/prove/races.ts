import { connect, type Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import { untilWaiting } from "@countersign/engine/testing/held-lock.ts";
import { findViolations } from "@countersign/engine/testing/invariants.ts";
import { type Act, acts } from "./race-acts.ts";
import { digestOf, type Scene, scenes } from "./race-scenes.ts";
import { type Report, spread } from "./report.ts";

export interface RacesOptions {
  /** An empty, migrated database, for this alone. */
  readonly url: string;
  /** How many orders to try, spread evenly over all of them; all unless given. */
  readonly sample?: number | undefined;
  /** Only these acts; all unless given. */
  readonly only?: readonly string[] | undefined;
  /** Stops at the first violation. */
  readonly stopsEarly?: boolean;
}

interface Order {
  readonly scene: string;
  readonly names: readonly string[];
}

/** So many orders share a look at the invariants, which is taken before their runs are cleared away. */
const perLook = 20;

/**
 * Lets every two and every three acts meet on one run, in every order and at every moment of its life. A connection holds
 * the run's row until all wait for it, one after the other, then lets go. What comes of it has to be what the same acts
 * come to one at a time in that order, and every invariant has to hold afterwards. No hook in the product is used.
 */
export async function proveRaces(options: RacesOptions): Promise<Report> {
  const holder = connect(options.url, { max: 2, applicationName: "races, holding" });
  const others = connect(options.url, { max: 6, applicationName: "races, waiting" });
  const violations: string[] = [];
  const all = allOrders(options.only ?? Object.keys(acts));
  const orders = options.sample === undefined ? all : spread(all, options.sample);
  const byRun = new Map<string, string>();
  let tried = 0;
  let waits = 0;
  let overtakings = 0;
  try {
    const world = await makeWorld(holder);
    for (const order of orders) {
      const name = `${order.scene}: ${order.names.join(", ")}`;
      const race = await tryOrder(holder, others, world, order);
      violations.push(...race.violations.map((violation) => `${name}: ${violation}`));
      for (const runId of race.runIds) byRun.set(runId, name);
      waits += race.waits;
      overtakings += race.overtakings;
      tried += 1;
      if (tried % perLook === 0 || tried === orders.length) {
        violations.push(...(await lookAtInvariants(holder, byRun)));
        byRun.clear();
      }
      if (options.stopsEarly === true && violations.length > 0) break;
    }
  } finally {
    await Promise.all([holder.end({ timeout: 5 }), others.end({ timeout: 5 })]);
  }
  return { counts: { orders: tried, ofAll: all.length, waits, overtakings }, violations };
}

/** All pairs and triples of different acts in every order, at every moment. */
function allOrders(names: readonly string[]): Order[] {
  const pairs = names.flatMap((a) => names.filter((b) => b !== a).map((b) => [a, b]));
  const triples = pairs.flatMap((pair) => names.filter((c) => !pair.includes(c)).map((c) => [...pair, c]));
  return Object.keys(scenes).flatMap((scene) => [...pairs, ...triples].map((some) => ({ scene, names: some })));
}

interface Race {
  readonly violations: readonly string[];
  readonly runIds: readonly string[];
  readonly waits: number;
  readonly overtakings: number;
}

async function tryOrder(holder: Sql, others: Sql, world: World, { scene, names }: Order): Promise<Race> {
  const make = scenes[scene];
  const order = names.flatMap((name) => acts[name] ?? []);
  if (make === undefined || order.length !== names.length)
    throw new Error(`There are no such acts: ${names.join(", ")}`);
  const violations: string[] = [];
  const runIds: string[] = [];
  const alone = await playAlone(holder, await make(holder, world), order, runIds);
  let waits = 0;
  let overtakings = 0;
  for (;;) {
    const scene = await make(holder, world);
    runIds.push(scene.runId);
    const met = await meet(holder, others, scene, order, violations);
    const end: End = { outcomes: met.outcomes, digest: await digestOf(holder, scene.runId) };
    waits += met.waits;
    if (isSame(end, alone)) return { violations, runIds, waits, overtakings };

    // Of three that wait for a row PostgreSQL may let the third go before the second; then it is another order that was met.
    const candidates = overtakings < mostOvertakings ? otherOrders(order) : [];
    let isOtherOrder = false;
    for (const other of candidates) {
      const played = await playAlone(holder, await make(holder, world), other, runIds);
      const told = order.map((act) => played.outcomes[other.indexOf(act)] ?? "");
      isOtherOrder ||= isSame(end, { outcomes: told, digest: played.digest });
    }
    if (!isOtherOrder)
      return { violations: [...violations, describeDifference(end, alone)], runIds, waits, overtakings };
    overtakings += 1;
  }
}

/** What acts answered, in the order in which they are named, and how they left the run. */
interface End {
  readonly outcomes: readonly string[];
  readonly digest: string;
}

const mostOvertakings = 10;

function isSame(a: End, b: End): boolean {
  return a.digest === b.digest && a.outcomes.join() === b.outcomes.join();
}

function describeDifference(met: End, alone: End): string {
  return `answered ${met.outcomes.join(", ")}, one at a time it is ${alone.outcomes.join(", ")}\nthe run is left as ${met.digest}\none at a time it is ${alone.digest}`;
}

/** The acts one at a time. */
async function playAlone(sql: Sql, scene: Scene, order: readonly Act[], runIds: string[]): Promise<End> {
  runIds.push(scene.runId);
  const outcomes: string[] = [];
  for (const act of order) {
    await act.prepare?.(sql, scene);
    outcomes.push(await settled(act.perform(sql, scene)));
  }
  return { outcomes, digest: await digestOf(sql, scene.runId) };
}

/** The other orders that those acts can take effect in which wait in line together. */
function otherOrders(order: readonly Act[]): Act[][] {
  const permute = (some: readonly Act[]): Act[][] =>
    some.length < 2
      ? [[...some]]
      : some.flatMap((act) => permute(some.filter((one) => one !== act)).map((rest) => [act, ...rest]));
  const start = order.findLastIndex((act) => act.passesOver === true) + 1;
  return permute(order.slice(start)).map((rest) => [...order.slice(0, start), ...rest]);
}

/**
 * Performs the acts so that each that can wait does, behind a connection that holds the run. One that passes over locked
 * rows is shown to do so, and has its turn as the holder of the lock, with those behind it waiting for its commit.
 */
async function meet(
  holder: Sql,
  others: Sql,
  scene: Scene,
  order: readonly Act[],
  violations: string[],
): Promise<{ outcomes: string[]; waits: number }> {
  const outcomes: string[] = [];
  let waits = 0;
  for (let at = 0; at < order.length;) {
    const waiting: Promise<string>[] = [];
    await transaction(holder, async (tx) => {
      await tx`select from runs where id = ${scene.runId} for no key update`;
      const first = order[at];
      if (first?.passesOver === true) {
        await passOver(others, scene, first, violations);
        await first.prepare?.(tx, scene);
        outcomes.push(await settled(first.perform(tx, scene)));
        at += 1;
      }
      for (let next = order[at]; next !== undefined && next.passesOver !== true; next = order[(at += 1)]) {
        const answer = settled(next.perform(others, scene));
        waiting.push(answer);
        const comes = await Promise.race([untilWaiting(tx, waiting.length).then(() => "waits"), answer]);
        if (comes !== "waits") violations.push(`an act answered ${comes} while somebody else held the run`);
      }
    });
    outcomes.push(...(await Promise.all(waiting)));
    waits += waiting.length;
  }
  return { outcomes, waits };
}

async function passOver(on: Sql, scene: Scene, act: Act, violations: string[]): Promise<void> {
  const answer = await settled(act.perform(on, scene));
  if (answer !== "none") violations.push(`what should pass over a held run answered ${answer}`);
}

/** An error is an outcome too: a deadlock is one that nothing may answer with. */
async function settled(answer: Promise<string>): Promise<string> {
  return await answer.catch((error: unknown) => `error: ${error instanceof Error ? error.message : String(error)}`);
}

async function lookAtInvariants(sql: Sql, byRun: ReadonlyMap<string, string>): Promise<string[]> {
  const found = (await findViolations(sql)).flatMap(({ invariant, rows }) =>
    rows.map((row) => {
      const runId = "run_id" in row ? String(row.run_id) : "";
      return `${byRun.get(runId) ?? runId}: ${invariant} ${JSON.stringify(row)}`;
    }),
  );
  await sql`truncate runs, audit cascade`;
  await sql`delete from policies where scope = 'run'`;
  return found;
}
