import { connect, type Sql } from "@countersign/db/connect.ts";
import { createBell, listenToBell } from "../bell.ts";
import { createCommitter } from "../committer.ts";
import type { Engine } from "../engine.ts";
import type { Scenario } from "../scripted-model.ts";
import type { Tool } from "../tool.ts";
import { startWorker, type Worker, type WorkerOptions } from "../worker.ts";
import { makeEngine, type TestEngine } from "./engine.ts";

export interface TestWorker {
  readonly engine: TestEngine;
  readonly worker: Worker;
  /** Gives every run back and closes what it opened. */
  stop(graceMs?: number): Promise<void>;
}

export interface TestWorkerOptions extends Partial<WorkerOptions> {
  readonly over?: Partial<Engine>;
  /** Where the listener and the bell connect to; without it work is found by polling. */
  readonly bellUrl?: string;
  /** How long a connection may carry nothing. */
  readonly silentMs?: number;
}

/** Every time of a worker as short as a test needs it. */
const quick = { name: "test", capacity: 16, leaseMs: 2_000, renewMs: 200, sweepMs: 50, pollMs: 20, maxClaims: 5 };

/** A worker as the worker's process starts it, on pools of its own. */
export function aWorker(
  url: string,
  tools: readonly Tool[],
  scenario: Scenario,
  { over, bellUrl, silentMs = 60_000, ...options }: TestWorkerOptions = {},
): TestWorker {
  const pool = (purpose: string, max: number): Sql =>
    connect(url, { max, silentMs, applicationName: `test worker${purpose}` });
  const sql = pool("", 10);
  const stragglers = pool(", waiting", 5);
  const renewals = options.renewals ?? pool(", renewing", 2);
  const bell = bellUrl === undefined ? undefined : createBell(bellUrl);
  const ring = (): void => bell?.ring();
  const engine = makeEngine(sql, tools, scenario, { commit: createCommitter({ sql, stragglers, ring }), ...over });
  const worker = startWorker(engine, { ...quick, renewals, ...options });
  const listener =
    bellUrl === undefined
      ? undefined
      : listenToBell(bellUrl, sql, { onRing: worker.wake, onUnavailable: () => undefined });
  return {
    engine,
    worker,
    async stop(graceMs = 1_000) {
      await worker.stop(graceMs);
      await Promise.all([listener?.close(), bell?.close()]);
      await Promise.all([sql, stragglers, renewals].map((client) => client.end({ timeout: 1 })));
    },
  };
}
