import { inspect } from "node:util";
import { createBroker } from "@countersign/broker/handles.ts";
import { createScrubbers } from "@countersign/broker/run-scrubber.ts";
import { makeKey, ringOf, setSecret } from "@countersign/broker/testing/fixtures.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { completeCall } from "@countersign/engine/commits/complete-call.ts";
import type { Committer } from "@countersign/engine/committer.ts";
import type { Engine } from "@countersign/engine/engine.ts";
import { stringifyExact } from "@countersign/engine/exact-text.ts";
import { scrubNothing } from "@countersign/engine/scrub.ts";
import type { OutsideContext } from "@countersign/engine/tool.ts";
import { driveRun, makeEngine, readingTool } from "@countersign/engine/testing/engine.ts";
import { givenRun, makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { createOpenCapability } from "@countersign/worker/open-capability.ts";
import { createReport } from "@countersign/worker/report.ts";
import { createScrubberOf } from "@countersign/worker/scrub-runs.ts";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { findLeaks, formsOf, readEveryColumn } from "./support/canary-oracle.ts";

const { sql } = await testDatabase();
const key = makeKey();
const keyring = ringOf(key);
let count = 0;

/** What goes wrong: a part of the engine in the place of the sound one, made for the value that may be nowhere. */
type Fault = (sound: Engine, canary: string) => Partial<Engine>;

/** Has a run tell a secret in every form and fail over it, on an engine with this fault; what the oracle then finds. */
async function leaksOf(fault: Fault): Promise<string[]> {
  const canary = `c4nary ${(count += 1)} "q\\/+ü=${"x".repeat(count)}&~`;
  const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: ["tell", "fail"] });
  await setSecret(sql, key, world.workspaceId, "canary.own", canary);
  const use = (body: (secret: string) => Promise<never> | { kind: "done"; content: string }) => ({
    requires: ["canary.own"],
    execute: async (_args: unknown, { acquire }: OutsideContext) =>
      await (await acquire("canary.own")).use(async (secret) => await body(secret)),
  });
  const tools = [
    readingTool(
      "tell",
      () => expect.unreachable(),
      use((secret) => ({ kind: "done", content: tell(secret) })),
    ),
    readingTool(
      "fail",
      () => expect.unreachable(),
      use((secret) => Promise.reject(new Error(`Bearer ${secret}`))),
    ),
  ];
  const logged: string[] = [];
  const requests: string[] = [];
  const broker = createBroker({ sql, keyring });
  const plain = makeEngine(sql, tools, ({ turn }) =>
    turn === 0 ? { use: ["tell", "fail"].map((tool) => ({ tool, args: {} })) } : { say: "done" },
  );
  const sound: Engine = {
    ...plain,
    openCapability: createOpenCapability(broker),
    scrubberOf: createScrubberOf(createScrubbers({ sql, keyring, heldValues: broker.heldValues })),
    report: createReport(pino({ level: "trace" }, { write: (line) => void logged.push(line) })),
    model: async (request, signal) => {
      requests.push(JSON.stringify(request));
      return await plain.model(request, signal);
    },
  };
  const runId = await givenRun(sql, world, { grants: ["canary.own"] });
  const engine = { ...sound, ...fault(sound, canary) };
  const report: Engine["report"] = (event) => {
    engine.report(event);
    // What a fault's own report prints is a log line too.
    if (engine.report !== sound.report && "error" in event) logged.push(inspect(event.error));
  };
  expect(await driveRun({ ...engine, report }, runId)).toBe("ended");
  return findLeaks(
    [{ name: "canary", value: canary }],
    [
      ...(await readEveryColumn(sql)),
      ...logged.map((text) => ({ where: "a log line", text })),
      ...requests.map((text) => ({ where: "a model request", text })),
    ],
  );
}

const tell = (secret: string): string => [...formsOf(secret).values()].join("\n");

test("of an engine in order the oracle finds nothing", async () => {
  expect(await leaksOf(() => ({}))).toEqual([]);
});

describe("the oracle finds", () => {
  test("a library's error that is passed on into the log", async () => {
    const leaks = await leaksOf(() => ({ report: () => undefined }));
    expect(leaks).toContain("canary, raw: a log line");
    expect(leaks.every((leak) => leak.endsWith("a log line"))).toBe(true);
  });

  test("a library's error that is passed on as the result of a call", async () => {
    const leaks = await leaksOf((sound, canary) => ({
      commit: (async (kind, transition) => {
        const isFailure = (kind as unknown) === completeCall && "code" in (transition as object);
        const raw = { ...(transition as object), result: stringifyExact(`it failed: Bearer ${canary}`) };
        return await sound.commit(kind, isFailure ? (raw as typeof transition) : transition);
      }) satisfies Committer,
    }));
    expect(leaks).toContain("canary, raw: tool_calls.result");
  });

  test("a result that is scrubbed only after it was stored", async () => {
    const leaks = await leaksOf((sound, canary) => ({
      commit: (async (kind, transition) => {
        const isResult = (kind as unknown) === completeCall && !("code" in (transition as object));
        const raw = { ...(transition as object), result: stringifyExact(tell(canary)) };
        return await sound.commit(kind, isResult ? (raw as typeof transition) : transition);
      }) satisfies Committer,
    }));
    expect(leaks).toContain("canary, hex: tool_calls.result");
    expect(leaks.some((leak) => leak.endsWith("a model request"))).toBe(false);
  });

  test("results that nobody scrubs, in what is stored and in what the model is told", async () => {
    const leaks = await leaksOf(() => ({ scrubberOf: async () => scrubNothing }));
    for (const where of ["tool_calls.result", "a model request"]) expect(leaks).toContain(`canary, raw: ${where}`);
  });

  test.each([...formsOf("any secret").keys()])(
    "a secret as %s, where the scrubbers miss that form alone",
    async (form) => {
      const leaks = await leaksOf((sound, canary) => ({
        scrubberOf: async (runId) => {
          const scrub = await sound.scrubberOf(runId);
          const missed = formsOf(canary).get(form) ?? "";
          return { ...scrub, text: (text) => text.split(missed).map(scrub.text).join(missed) };
        },
      }));
      expect(leaks).toContain(`canary, ${form}: tool_calls.result`);
      expect(leaks).toContain(`canary, ${form}: a model request`);
    },
  );
});
