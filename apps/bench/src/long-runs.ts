import { setTimeout as delay } from "node:timers/promises";
import { connect } from "@countersign/db/connect.ts";
import { startRun } from "@countersign/engine/commits/start-run.ts";
import { createEngine, startEmbeddedWorker } from "@countersign/engine/create-engine.ts";
import { makeAgent } from "@countersign/engine/make-agent.ts";
import type { Model } from "@countersign/engine/model.ts";
import { readSnapshot } from "@countersign/engine/run-snapshot.ts";
import { defineTool } from "@countersign/engine/tool.ts";
import { v7 as uuidv7 } from "uuid";
import { z } from "zod";
import { percentile } from "./measure.ts";

export interface LongRuns {
  readonly turns: number;
  /** From one question to the model to the next, the tool's and the model's own time being nothing. */
  readonly msAtTurn10: number;
  readonly msAtLastTurns: number;
  /** What a claim reads of such a run. */
  readonly snapshotMs: number;
  readonly snapshotBytes: number;
}

const answer = "A line of what a tool may say, of about the usual length. ".repeat(8);

/** Drives runs of so many turns, each of one call that only reads, and times the turns of the beginning and of the end. */
export async function measureLongRuns(url: string, turns: number, runs: number): Promise<LongRuns> {
  const sql = connect(url, { applicationName: "bench long runs" });
  const agent = await makeAgent(sql, {
    name: "long",
    model: "none",
    toolset: ["look"],
    limits: { turns: turns + 10, toolCalls: turns + 10 },
  });
  const askedAt = new Map<string, number[]>();
  const model: Model = async ({ runId }) => {
    const times = askedAt.get(runId) ?? [];
    askedAt.set(runId, times);
    times.push(performance.now());
    return {
      content:
        times.length <= turns
          ? [
              { type: "text", text: "I look once more." },
              { type: "tool_use", id: `toolu_${uuidv7()}`, name: "look", argsText: '{"at":"the same page"}' },
            ]
          : [{ type: "text", text: "done" }],
      usage: { inputTokens: 1, outputTokens: 1, costMicros: 0 },
    };
  };
  const look = defineTool<object>({
    name: "look",
    description: "Reads",
    schema: z.looseObject({}),
    tier: "read",
    needsApproval: false,
    effect: "read-only",
    execute: async () => ({ kind: "done", content: answer }),
  });
  const engine = createEngine({ sql, tools: [look], model, report: (event) => console.error(event) });
  const worker = startEmbeddedWorker(engine);
  const early: number[] = [];
  const late: number[] = [];
  let runId = "";
  for (let n = 0; n < runs; n += 1) {
    runId = uuidv7();
    await engine.commit(startRun, {
      runId,
      workspaceId: agent.workspaceId,
      definitionId: agent.definitionId,
      definitionVersion: 1,
      startedBy: agent.userId,
      title: "a long run",
      input: '"please"',
      grants: [],
    });
    worker.wake();
    while ((askedAt.get(runId)?.length ?? 0) <= turns) await delay(5);
    const times = askedAt.get(runId) ?? [];
    const spans = times.slice(1).map((at, index) => at - (times[index] ?? at));
    early.push(...spans.slice(4, 24));
    late.push(...spans.slice(-20));
  }
  await worker.stop(5_000);
  const reads: number[] = [];
  for (let n = 0; n < 10; n += 1) {
    const beganAt = performance.now();
    await readSnapshot(sql, runId);
    reads.push(performance.now() - beganAt);
  }
  const snapshot = await readSnapshot(sql, runId);
  await sql.end();
  return {
    turns,
    msAtTurn10: percentile(early, 0.5),
    msAtLastTurns: percentile(late, 0.5),
    snapshotMs: percentile(reads, 0.5),
    snapshotBytes: JSON.stringify(snapshot).length,
  };
}
