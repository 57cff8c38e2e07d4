import { once } from "node:events";
import { chooseDataDir } from "@countersign/broker/data-dir.ts";
import { type BrokerPublicKey, parsePublicKey, readPublicKey } from "@countersign/broker/public-key.ts";
import { checkServer, checkTables } from "@countersign/db/boot-check.ts";
import { connect } from "@countersign/db/connect.ts";
import { createBell, listenToBell } from "@countersign/engine/bell.ts";
import { loadAppPolicy } from "@countersign/engine/load-app-policy.ts";
import { createCommitter } from "@countersign/engine/committer.ts";
import { createEmbedder } from "@countersign/kb/embeddings.ts";
import { createQuestions } from "@countersign/kb/questions.ts";
import { assembleTools } from "@countersign/tools/assemble-tools.ts";
import type { Logger } from "pino";
import { createApp } from "./app.ts";
import type { ServerConfig } from "./config.ts";
import { createEvents } from "./events/events.ts";
import { listen } from "./http-server.ts";
import { createOidc } from "./oidc.ts";
import { readPages } from "./pages.ts";
import { observeCommits } from "./observe-commits.ts";

/** A server that answers. */
export interface RunningServer {
  readonly url: string;
  /** Afterwards nothing is accepted, what was in hand is answered, and no connection is open. */
  stop(): Promise<void>;
}

/** How long requests in hand may take once the server stops. */
const graceMs = 10_000;

/**
 * Checks the database, then serves. When it resolves the server answers at `url`. Throws BootRefusal for a database it
 * cannot work with, AddressRefusal for an address it cannot have, ToolsError or EngineError for files of tools or policy that are not in order;
 * nothing is left open then.
 */
export async function startServer(
  config: Pick<ServerConfig, "databaseUrl" | "host" | "port" | "publicUrl"> & Partial<ServerConfig>,
  log: Logger,
): Promise<RunningServer> {
  const pool = (purpose: string, max: number) =>
    connect(config.databaseUrl, {
      max,
      applicationName: `countersign server${purpose}`,
      ...(config.databaseSilentMs === undefined ? {} : { silentMs: config.databaseSilentMs }),
    });
  const sql = pool("", 10);
  const stragglers = pool(", waiting", 5);
  const directUrl = config.databaseDirectUrl ?? config.databaseUrl;
  const bell = createBell(directUrl);
  const events = createEvents({ sql, log });
  const endPools = async () => {
    await Promise.all([bell.close(), events.close()]);
    await Promise.all([sql.end(), stragglers.end()]);
  };
  const closing = new AbortController();
  const ring = () => bell.ring();

  try {
    await checkServer(sql);
    await checkTables(sql);
    const tools = await assembleTools({ files: config.toolFiles ?? [], osExec: config.osExec, mayExecute: false });
    if (config.policyFile !== undefined && (await loadAppPolicy(sql, config.policyFile, tools)) === "configured") {
      log.info({ file: config.policyFile }, "the installation's policy was taken in");
      ring();
    }
    const app = createApp({
      sql,
      commit: observeCommits(createCommitter({ sql, stragglers, ring }), bell.tell),
      ring,
      tools,
      sealingKey: () => readSealingKey(config),
      rateLimit: config.rateLimit,
      log,
      events,
      mayWebhooksBePrivate: config.mayWebhooksBePrivate,
      mostFileBytes: config.mostFileBytes,
      publicUrl: config.publicUrl,
      pages: readPages(),
      questions: config.embeddings && createQuestions(createEmbedder(config.embeddings)),
      oidc: config.oidc === undefined ? undefined : createOidc(config.oidc),
      closing: closing.signal,
    });
    const { server, url } = await listen(app, config, log);
    const listener = listenToBell(directUrl, sql, {
      onRing: events.hear,
      onNews: events.hear,
      onUnavailable: () => log.warn("the bell is not heard; what changes is found by polling"),
    });
    return {
      url,
      async stop() {
        closing.abort();
        const closed = once(server, "close");
        server.close();
        server.closeIdleConnections();
        const late = setTimeout(() => server.closeAllConnections(), graceMs);
        await closed;
        clearTimeout(late);
        await listener.close();
        await endPools();
      },
    };
  } catch (error) {
    await endPools();
    throw error;
  }
}

/** Read anew each time: the worker may start after the server, and may make another key while it runs. */
async function readSealingKey(config: Partial<ServerConfig>): Promise<BrokerPublicKey> {
  const { brokerPublicKey, dataDir } = config;
  return brokerPublicKey === undefined
    ? await readPublicKey(chooseDataDir(dataDir))
    : parsePublicKey(brokerPublicKey, "BROKER_PUBLIC_KEY");
}
