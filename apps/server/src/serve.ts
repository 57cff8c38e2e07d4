import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { checkServer } from "@countersign/db/boot-check.ts";
import { connect } from "@countersign/db/connect.ts";
import { createCommitter } from "@countersign/engine/committer.ts";
import { registerTools } from "@countersign/engine/tools.ts";
import { catalog } from "@countersign/tools/catalog.ts";
import { createAdaptorServer } from "@hono/node-server";
import type { Logger } from "pino";
import { createApp } from "./app.ts";
import type { ServerConfig } from "./config.ts";

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
 * cannot work with, and the socket's error where the address is taken; nothing is left open then.
 */
export async function startServer(
  config: Pick<ServerConfig, "databaseUrl" | "host" | "port" | "publicUrl">,
  log: Logger,
): Promise<RunningServer> {
  const sql = connect(config.databaseUrl, { applicationName: "countersign server" });
  const stragglers = connect(config.databaseUrl, {
    max: 5,
    applicationName: "countersign server, waiting",
  });
  const endPools = () => Promise.all([sql.end(), stragglers.end()]);
  const closing = new AbortController();
  const ring = () => {};

  try {
    await checkServer(sql);
    const app = createApp({
      sql,
      commit: createCommitter({ sql, stragglers, ring }),
      ring,
      tools: registerTools(catalog),
      log,
      publicUrl: config.publicUrl,
      closing: closing.signal,
    });
    const server = createAdaptorServer({ fetch: app.fetch, hostname: config.host }) as Server;
    server.listen(config.port, config.host);
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const host = config.host.includes(":") ? `[${config.host}]` : config.host;
    return {
      url: `http://${host}:${port}`,
      async stop() {
        closing.abort();
        const closed = once(server, "close");
        server.close();
        server.closeIdleConnections();
        const late = setTimeout(() => server.closeAllConnections(), graceMs);
        await closed;
        clearTimeout(late);
        await endPools();
      },
    };
  } catch (error) {
    await endPools();
    throw error;
  }
}
