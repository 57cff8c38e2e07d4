import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { outcomeOf } from "./testing/driver.ts";
import { driveRun, makeEngine, readingTool } from "./testing/engine.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";
import { checkToolResult } from "./tool-result.ts";
import type { ToolResult } from "./tool.ts";

const { sql } = await testDatabase();

const notResults: readonly (readonly [string, unknown, string])[] = [
  ["nothing", undefined, "returned nothing"],
  ["a date", new Date(0), "returned a Date"],
  ["a map", new Map([["a", 1]]), "returned a Map"],
  ["a number as content", { kind: "done", content: 10.5 }, "content is a number"],
  ["a big integer as content", { kind: "done", content: 10n }, "content is a bigint"],
  ["a date as content", { kind: "done", content: new Date(0) }, "content is a Date"],
  ["no content", { kind: "done" }, "content is nothing"],
  ["a kind that is none", { kind: "ok", content: "" }, "returned a Object"],
  ["a code that is none", { kind: "failed", content: "", code: "oops" }, 'the code "oops"'],
];

test.each(notResults)("DU33: a tool that returns %s is told so, with what was found", (_what, returned, message) => {
  expect(() => checkToolResult(returned as ToolResult)).toThrow(message);
});

test.each(["read-only", "idempotent", "once", "transactional"] as const)(
  "DU33: a %s tool that returns what cannot be stored is a failed or unknown call, and the run does not jam",
  async (effect) => {
    const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: ["act"] });
    const tool = readingTool("act", () => new Map() as unknown as ToolResult, { effect });
    const engine = makeEngine(sql, [tool], ({ results }) =>
      results.length === 0 ? { use: [{ tool: "act", args: {} }] } : { say: results.map(({ code }) => code).join() },
    );
    const runId = await givenRun(sql, world);
    await driveRun(engine, runId);
    expect(await outcomeOf(sql, runId)).toBe(effect === "once" ? "paused: outcome" : "completed: error");
    expect(engine.events.map(({ kind }) => kind)).toContain("tool.failed");
  },
);
