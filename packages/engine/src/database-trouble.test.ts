import { connect } from "@countersign/db/connect.ts";
import { afterEach, expect, test } from "vitest";
import { createDefinitions } from "./definition.ts";
import type { Engine } from "./engine.ts";
import type { Scenario } from "./scripted-model.ts";
import { callsOf, decidePending, endEveryRun, outcomeOf, stopPoint, until } from "./testing/driver.ts";
import { readingTool, sendingTool } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";
import { runRow } from "./testing/rows.ts";
import { aWorker, type TestWorker } from "./testing/worker.ts";
import type { ToolResult } from "./tool.ts";

const { url, sql } = await engineDatabase();

const workers: TestWorker[] = [];
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop(0)));
  await endEveryRun(sql);
});

const spec = { name: "agent", model: "scripted", toolset: ["look"] };
const look = readingTool("look", (): ToolResult => ({ kind: "done", content: "x" }));
const lookOnce: Scenario = ({ results }) =>
  results.length === 0 ? { use: [{ tool: "look", args: {} }] } : { say: "ok" };

test.each(["53100", "53200", "53300", "57014", "40001", "40P01"])(
  "DU22: what a database in trouble (%s) refuses to write is kept until it can be written, and nothing is asked twice",
  async (code) => {
    const world = await makeWorld(sql, spec);
    await sql.unsafe(`
      create sequence refusals;
      create function refuse() returns trigger language plpgsql as $$
        begin perform nextval('refusals'); raise exception 'not now' using errcode = '${code}'; end $$;
      create trigger refuse before insert on tool_calls for each row execute function refuse();`);
    let asked = 0;
    const scenario: Scenario = (state) => {
      asked += 1;
      return lookOnce(state);
    };
    workers.push(aWorker(url, [look], scenario, { leaseMs: 30_000, maxClaims: 1 }));
    const runId = await givenRun(sql, world);
    try {
      await until(async () => {
        const [refusals] = await sql<{ last_value: number }[]>`select last_value::int from refusals`;
        return (refusals?.last_value ?? 0) >= 4;
      });
    } finally {
      await sql`drop function refuse() cascade`;
      await sql`drop sequence refusals`;
    }
    await until(async () => (await runRow(sql, runId)).status === "completed");
    expect(asked).toBe(2);
    expect(await runRow(sql, runId)).toMatchObject({ epoch: 1 });
  },
);

/** The first two times the database has no connection left. */
function failingTwice(): () => "continue" {
  let calls = 0;
  return () => {
    calls += 1;
    if (calls <= 2) throw Object.assign(new Error("too many connections"), { code: "53300" });
    return "continue";
  };
}

test.each(["be taken in hand", "go on"])(
  "DU22: a run that a database in trouble does not let %s is given back, and that claim does not count",
  async (what) => {
    const world = await makeWorld(sql, spec);
    const definitions = createDefinitions(sql);
    const fail = failingTwice();
    const definitionOf: Engine["definitionOf"] = async (...which) => {
      if (what === "be taken in hand") fail();
      const definition = await definitions(...which);
      // Read in each step of the loop.
      return what === "go on" ? Object.defineProperty({ ...definition }, "onDenial", { get: fail }) : definition;
    };
    const worker = aWorker(url, [look], lookOnce, { leaseMs: 30_000, maxClaims: 1, over: { definitionOf } });
    workers.push(worker);
    const runId = await givenRun(sql, world);
    await until(async () => (await runRow(sql, runId)).status === "completed");
    expect(worker.engine.events.map(({ kind }) => kind)).toEqual(["run.dropped", "run.dropped"]);
    expect(await outcomeOf(sql, runId)).toBe("completed: ok");
  },
);

test("DU22: news whose claim was answered into a broken connection reaches its holder, while a long call of the run goes on", async () => {
  const world = await makeWorld(sql, { ...spec, toolset: ["look", "send"] });
  const long = stopPoint<ToolResult>();
  const tools = [
    readingTool("look", () => long.stay(), { longRunning: true }),
    sendingTool("send", (): ToolResult => ({ kind: "done", content: "sent" })),
  ];
  const scenario: Scenario = ({ results }) =>
    results.length === 0
      ? { use: ["look", "send"].map((tool) => ({ tool, args: {} })) }
      : { say: results.map(({ content }) => content).join(" ") };
  let lost = 0;
  const own = connect(url);
  const losing = new Proxy(own, {
    get: (target, name) =>
      name !== "unsafe"
        ? (Reflect.get(target, name) as unknown)
        : async (...statement: Parameters<typeof own.unsafe>) => {
            const rows = await target.unsafe(...statement);
            if (!statement[0].includes("from claim_runs(") || lost > 0 || !rows.some((row) => row["is_new"] === false))
              return rows;
            lost += 1;
            throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
          },
  });
  workers.push(aWorker(url, tools, scenario, { leaseMs: 30_000, over: { sql: losing } }));
  const runId = await givenRun(sql, world);
  try {
    await long.reached;
    await until(async () => (await callsOf(sql, runId)).some(({ status }) => status === "waiting"));
    await decidePending(sql, world, runId, "approve");
    await until(async () => (await callsOf(sql, runId)).some(({ result }) => result === "sent"));
    expect(lost).toBe(1);
    long.letGo({ kind: "done", content: "seen" });
    await until(async () => (await runRow(sql, runId)).status === "completed");
    expect(await outcomeOf(sql, runId)).toBe("completed: seen sent");
  } finally {
    long.letGo({ kind: "done", content: "seen" });
    await own.end({ timeout: 1 });
  }
});
