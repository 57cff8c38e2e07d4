import { hostname } from "node:os";
import { loadOrMakeAuditKey } from "@countersign/broker/audit-key.ts";
import { bootCheckKeys } from "@countersign/broker/boot-check-keys.ts";
import { createBroker } from "@countersign/broker/handles.ts";
import { loadLiveKeyring } from "@countersign/broker/keyring.ts";
import { createProcessSecrets } from "@countersign/broker/process-secrets.ts";
import { createScrubbers } from "@countersign/broker/run-scrubber.ts";
import { checkServer, checkTables } from "@countersign/db/boot-check.ts";
import { connect } from "@countersign/db/connect.ts";
import { createBell, listenToBell } from "@countersign/engine/bell.ts";
import { loadAppPolicy } from "@countersign/engine/load-app-policy.ts";
import { createEngine } from "@countersign/engine/create-engine.ts";
import { recordToolDefinitions } from "@countersign/engine/definition-change.ts";
import type { Engine, EngineEvent } from "@countersign/engine/engine.ts";
import { startWorker } from "@countersign/engine/worker.ts";
import { createEmbedder } from "@countersign/kb/embeddings.ts";
import { createQuestions } from "@countersign/kb/questions.ts";
import { assembleTools } from "@countersign/tools/assemble-tools.ts";
import { reportAttempts, type ToolAttempt } from "@countersign/tools/decorators.ts";
import { endLeftCommands } from "@countersign/tools/exec-user.ts";
import type { Logger } from "pino";
import type { WorkerConfig } from "./config.ts";
import { startJobs } from "./jobs.ts";
import { keepAudit } from "./keep-audit.ts";
import { keepVectors } from "./keep-vectors.ts";
import { createWorkerMetrics, serveMetrics } from "./metrics.ts";
import { createOpenCapability } from "./open-capability.ts";
import type { MakeProvider } from "./provider.ts";
import { readOwnSecrets } from "./own-secrets.ts";
import { createModelReport, createReport, describeError } from "./report.ts";
import { createScrubberOf } from "./scrub-runs.ts";
import { traceCalls, traceModel } from "./traces.ts";
import { Refusal } from "@countersign/db/refusal.ts";

/** Secrets are stored that this worker cannot open, for want of their key or because they were changed; the message names each. */
export class SecretsUnreadable extends Refusal {
  override readonly name = "SecretsUnreadable";
}

/** A worker that takes runs. */
export interface RunningWorker {
  /** How many runs are in hand. */
  inHand(): number;
  /** Afterwards nothing is claimed, every run is given back and no connection is open. */
  stop(): Promise<void>;
}

/**
 * Checks the database and the keys, then works: claims ready runs, drives them, sweeps, and listens for the bell. When it
 * resolves the worker has looked for work. Throws BootRefusal, BrokerError, SecretsUnreadable, ToolsError or
 * EngineError, and then leaves nothing open.
 */
export async function work(config: WorkerConfig, makeProvider: MakeProvider, log: Logger): Promise<RunningWorker> {
  const silentMs = config.databaseSilentMs;
  const pool = (purpose: string, max: number) =>
    connect(config.databaseUrl, { max, silentMs, applicationName: `countersign worker${purpose}` });
  const sql = pool("", 10);
  const stragglers = pool(", waiting", 5);
  const renewals = pool(", renewing", 2);
  const endPools = () => Promise.all([sql.end(), stragglers.end(), renewals.end()]);
  const parts: { stop(): Promise<void> }[] = [];
  const stopParts = () => Promise.all(parts.map((part) => part.stop()));

  try {
    await checkServer(sql);
    await checkTables(sql);
    const { keyring, refresh: refreshKeyring } = await loadLiveKeyring(config.dataDir);
    const keys = await bootCheckKeys(sql, keyring);
    if (keys.kind !== "ok") throw new SecretsUnreadable(keys.message);
    const auditKey = await loadOrMakeAuditKey(config.dataDir);
    const broker = createBroker({ sql, keyring, refreshKeyring });
    const own = await readOwnSecrets(config, keyring);
    const secrets = createProcessSecrets({ sql, keyring, refreshKeyring });
    const heldValues = () => [...broker.heldValues(), ...secrets.heldValues(), ...own.values()];

    const { osExec, toolFiles: files } = config;
    let inHand = (): number => 0;
    const metrics = createWorkerMetrics(() => inHand());
    const onAttempt = (attempt: ToolAttempt): void => {
      metrics.attempt(attempt);
      log.debug(attempt, "a tool was run");
    };
    const decorators = [traceCalls, reportAttempts(onAttempt)];
    const embedder = config.embeddings && createEmbedder(config.embeddings);
    const questions = embedder && createQuestions(embedder);
    const tools = await assembleTools({ osExec, files, decorators, questions });
    if (osExec !== undefined && (await endLeftCommands(osExec.user)) > 0)
      log.warn("commands of an earlier worker run on that could not be ended");

    if (config.policyFile !== undefined && (await loadAppPolicy(sql, config.policyFile, tools)) === "configured")
      log.info({ file: config.policyFile }, "the installation's policy was taken in");

    const tell = createReport(log);
    const report = (event: EngineEvent): void => {
      metrics.event(event);
      tell(event);
    };
    const bell = createBell(config.databaseDirectUrl);
    const { model, contextTokensOf } = makeProvider({ secrets, report: createModelReport(log) });
    const driver = createEngine({
      sql,
      stragglers,
      ring: bell.ring,
      tools,
      model: traceModel(model),
      contextTokensOf,
      openCapability: createOpenCapability(broker),
      scrubberOf: createScrubberOf(createScrubbers({ sql, keyring, refreshKeyring, heldValues })),
      report,
    });
    // Whoever looks at the run sees it move.
    const engine: Engine = {
      ...driver,
      async commit(kind, transition) {
        const outcome = await driver.commit(kind, transition);
        bell.tell();
        return outcome;
      },
    };
    if (config.metricsPort !== undefined) parts.push(await serveMetrics(metrics, config.metricsPort));
    const jobs = await startJobs({
      sql,
      databaseDirectUrl: config.databaseDirectUrl,
      secrets,
      log,
      mayWebhooksBePrivate: config.mayWebhooksBePrivate,
      onDelivery: metrics.delivery,
    });
    parts.push(jobs);
    if (embedder !== undefined) parts.push(keepVectors({ sql, embedder, log }));
    await recordToolDefinitions(sql, tools);
    const { capacity, leaseMs, renewMs, sweepMs, pollMs, maxClaims } = config;
    const name = `${hostname()}:${process.pid}`;
    const worker = startWorker(engine, {
      name,
      capacity,
      leaseMs,
      renewMs,
      sweepMs,
      pollMs,
      maxClaims,
      renewals,
    });
    const listener = listenToBell(config.databaseDirectUrl, sql, {
      onRing: worker.wake,
      onUnavailable: () => report({ kind: "bell.unavailable" }),
    });
    const audit = keepAudit({
      sql,
      key: auditKey,
      dataDir: config.dataDir,
      onFailure: (what, error) =>
        log.warn({ error: describeError(error, log) }, `${what} failed; the next turn comes by itself`),
    });
    inHand = worker.inHand;
    return {
      inHand: worker.inHand,
      async stop() {
        await Promise.all([worker.stop(config.graceMs), stopParts()]);
        await audit.stop();
        await Promise.all([listener.close(), bell.close()]);
        await endPools();
      },
    };
  } catch (error) {
    await stopParts();
    await endPools();
    throw error;
  }
}
