import type { Sql } from "@countersign/db/connect.ts";
import { z } from "zod";
import { advance, type Step } from "../advance.ts";
import { claimRuns } from "../commits/claim-runs.ts";
import { createCommitter } from "../committer.ts";
import { createDefinitions } from "../definition.ts";
import { type Engine, type EngineEvent, type HeldRun, takeInHand } from "../engine.ts";
import { scrubNothing } from "../scrub.ts";
import { createScriptedModel, type Scenario } from "../scripted-model.ts";
import { defineTool, type Tool, type ToolResult } from "../tool.ts";
import { registerTools } from "../tools.ts";

export interface TestEngine extends Engine {
  readonly events: EngineEvent[];
}

/** An engine whose outside is the test: its tools, and the scenario of the definition named `agent`. */
export function makeEngine(
  sql: Sql,
  tools: readonly Tool[],
  scenario: Scenario,
  over: Partial<Engine> = {},
): TestEngine {
  const events: EngineEvent[] = [];
  return {
    sql,
    commit: createCommitter({ sql, stragglers: sql, ring: () => undefined }),
    tools: registerTools(tools),
    model: createScriptedModel({ agent: scenario }),
    definitionOf: createDefinitions(sql),
    openCapability: async () => ({ use: (body) => body("a secret") }),
    scrubberOf: async () => scrubNothing,
    report: (event) => events.push(event),
    events,
    ...over,
  };
}

/**
 * Claims one ready run as this engine's worker would: a run whose row somebody has locked for a moment is passed over by a
 * claim and taken by one of the next.
 */
export async function takeRun(engine: Engine, runId: string, leaseMs = 30_000): Promise<HeldRun> {
  const tools = new Map([...engine.tools].map(([name, { definitionHash }]) => [name, definitionHash]));
  for (let look = 1; look <= 20; look += 1) {
    const claimed = await claimRuns(
      engine.sql,
      { worker: "test", leaseMs, limit: 1_000, held: [], tools },
      (_run, error) => {
        throw error;
      },
    );
    for (const one of claimed) {
      if (one.kind !== "claimed" || one.snapshot.id !== runId) continue;
      const definition = await engine.definitionOf(one.snapshot.definitionId, one.snapshot.definitionVersion);
      const run = takeInHand(one.snapshot, definition);
      if (run !== undefined) return run;
    }
    const [ready] =
      await engine.sql`select from runs where id = ${runId} and ready_at is not null and lease_id is null`;
    if (ready === undefined) break;
  }
  throw new Error(`run ${runId} was not ready to be claimed`);
}

/** Steps a held run until this hold of it ends. */
export async function driveOut(engine: Engine, held: HeldRun): Promise<Step> {
  let step: Step = "go_on";
  while (step === "go_on") step = await advance(engine, held);
  return step;
}

/** Claims a ready run and steps it until it parks or ends. */
export async function driveRun(engine: Engine, runId: string): Promise<Step> {
  return await driveOut(engine, await takeRun(engine, runId));
}

const anything = z.looseObject({});

/** A tool that only reads, and answers `answer`. */
export function readingTool(name: string, answer: () => ToolResult | Promise<ToolResult>, over: object = {}): Tool {
  return defineTool({
    name,
    description: name,
    schema: anything,
    tier: "read",
    needsApproval: false,
    effect: "read-only",
    execute: async () => await answer(),
    ...over,
  });
}

/** A tool whose effect can happen only once and that a person must approve; `act` is its effect. */
export function sendingTool(
  name: string,
  act: (args: Record<string, unknown>) => ToolResult | Promise<ToolResult>,
  over: object = {},
): Tool {
  return defineTool<Record<string, unknown>>({
    name,
    description: name,
    schema: anything,
    requires: ["mail.send"],
    needsApproval: true,
    effect: "once",
    execute: async (args) => await act(args),
    ...over,
  });
}
