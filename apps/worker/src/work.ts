import { hostname } from "node:os";
import { loadOrMakeAuditKey } from "@countersign/broker/audit-key.ts";
import { bootCheckKeys } from "@countersign/broker/boot-check-keys.ts";
import { createBroker } from "@countersign/broker/handles.ts";
import { loadLiveKeyring } from "@countersign/broker/keyring.ts";
import { createScrubbers } from "@countersign/broker/run-scrubber.ts";
import { checkServer } from "@countersign/db/boot-check.ts";
import { connect } from "@countersign/db/connect.ts";
import { createBell, listenToBell } from "@countersign/engine/bell.ts";
import { createEngine } from "@countersign/engine/create-engine.ts";
import type { Model } from "@countersign/engine/model.ts";
import { startWorker } from "@countersign/engine/worker.ts";
import { assembleTools } from "@countersign/tools/assemble-tools.ts";
import { reportAttempts } from "@countersign/tools/decorators.ts";
import { endLeftCommands } from "@countersign/tools/exec-user.ts";
import type { Logger } from "pino";
import type { WorkerConfig } from "./config.ts";
import { keepAudit } from "./keep-audit.ts";
import { createOpenCapability } from "./open-capability.ts";
import { readOwnSecrets } from "./own-secrets.ts";
import { createReport, describeError } from "./report.ts";
import { createScrubberOf } from "./scrub-runs.ts";

/** Secrets are stored that this worker cannot open, for want of their key or because they were changed; the message names each. */
export class SecretsUnreadable extends Error {
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
 * resolves the worker has looked for work. Throws BootRefusal, BrokerError, SecretsUnreadable or ToolsError, and then leaves nothing open.
 */
export async function work(config: WorkerConfig, model: Model, log: Logger): Promise<RunningWorker> {
  const pool = (purpose: string, max: number) =>
    connect(config.databaseUrl, { max, applicationName: `countersign worker${purpose}` });
  const sql = pool("", 10);
  const stragglers = pool(", waiting", 5);
  const renewals = pool(", renewing", 2);
  const endPools = () => Promise.all([sql.end(), stragglers.end(), renewals.end()]);

  try {
    await checkServer(sql);
    const { keyring, refresh: refreshKeyring } = await loadLiveKeyring(config.dataDir);
    const keys = await bootCheckKeys(sql, keyring);
    if (keys.kind !== "ok") throw new SecretsUnreadable(keys.message);
    const auditKey = await loadOrMakeAuditKey(config.dataDir);
    const broker = createBroker({ sql, keyring, refreshKeyring });
    const own = await readOwnSecrets(config, keyring);
    const heldValues = () => [...broker.heldValues(), ...own.values()];

    const { osExec, toolFiles: files } = config;
    const decorators = [reportAttempts((attempt) => log.debug(attempt, "a tool was run"))];
    const tools = await assembleTools({ osExec, files, decorators });
    if (osExec !== undefined && (await endLeftCommands(osExec.user)) > 0)
      log.warn("commands of an earlier worker run on that could not be ended");

    const report = createReport(log);
    const bell = createBell(config.databaseDirectUrl);
    const engine = createEngine({
      sql,
      stragglers,
      ring: bell.ring,
      tools,
      model,
      openCapability: createOpenCapability(broker),
      scrubberOf: createScrubberOf(createScrubbers({ sql, keyring, refreshKeyring, heldValues })),
      report,
    });
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
    return {
      inHand: worker.inHand,
      async stop() {
        await worker.stop(config.graceMs);
        await audit.stop();
        await Promise.all([listener.close(), bell.close()]);
        await endPools();
      },
    };
  } catch (error) {
    await endPools();
    throw error;
  }
}
