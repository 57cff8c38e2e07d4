import type { Sql } from "@countersign/db/connect.ts";
import { createCommitter } from "./committer.ts";
import { createDefinitions } from "./definition.ts";
import { CapabilityRefused, type Engine, type EngineEvent } from "./engine.ts";
import type { Model } from "./model.ts";
import { scrubNothing } from "./scrub.ts";
import type { Tool } from "./tool.ts";
import { registerTools, type RegisterOptions, type Tools } from "./tools.ts";
import { startWorker, type Worker, type WorkerOptions } from "./worker.ts";

export interface CreateEngineOptions extends RegisterOptions {
  readonly sql: Sql;
  /** The tools as they were declared, or registered. */
  readonly tools: readonly Tool[] | Tools;
  readonly model: Model;
  /** How much a model can take in; unless known, conversations are compacted only when somebody asks for it. */
  readonly contextTokensOf?: Engine["contextTokensOf"] | undefined;
  /** For commits that wait for a lock; the same client as `sql` unless stated. Give a busy process one of its own. */
  readonly stragglers?: Sql;
  /** Called when a run became ready; workers that are not told find it by polling. */
  readonly ring?: () => void;
  /** Opens credentials; unless stated, tools that require a capability are refused. */
  readonly openCapability?: Engine["openCapability"];
  /** Takes secrets out of what leaves tools and model; unless stated, everything stays as it is. */
  readonly scrubberOf?: Engine["scrubberOf"];
  /** Hears what an operator should know; unless stated nobody does. */
  readonly report?: (event: EngineEvent) => void;
}

/** The usual times of a worker, in milliseconds, and how much it takes on. */
const usualWorkerOptions = {
  name: "embedded",
  capacity: 64,
  leaseMs: 30_000,
  renewMs: 10_000,
  sweepMs: 1_000,
  pollMs: 1_000,
  maxClaims: 5,
} as const;

/**
 * An engine for one's own process: it drives the runs of this database with these tools and this model. `sql` stays the
 * caller's to end. Throws `invalid_tools` for tools that cannot be registered.
 */
export function createEngine(options: CreateEngineOptions): Engine {
  const { sql, tools, model, stragglers = sql, ring = () => undefined } = options;
  return {
    sql,
    commit: createCommitter({ sql, stragglers, ring }),
    tools: isRegistered(tools) ? tools : registerTools(tools, options),
    model,
    ...(options.contextTokensOf === undefined ? {} : { contextTokensOf: options.contextTokensOf }),
    definitionOf: createDefinitions(sql),
    openCapability: options.openCapability ?? refuseEverything,
    scrubberOf: options.scrubberOf ?? (async () => scrubNothing),
    report: options.report ?? (() => undefined),
  };
}

/** Starts taking runs with the usual times. Renewals go over the engine's own client unless one is given for them. */
export function startEmbeddedWorker(engine: Engine, over: Partial<WorkerOptions> = {}): Worker {
  return startWorker(engine, { ...usualWorkerOptions, renewals: engine.sql, ...over });
}

function isRegistered(tools: readonly Tool[] | Tools): tools is Tools {
  return tools instanceof Map;
}

function refuseEverything({ capability }: { readonly capability: string }): Promise<never> {
  return Promise.reject(
    new CapabilityRefused(`capability denied: ${capability}; this process has nothing that opens credentials`),
  );
}
