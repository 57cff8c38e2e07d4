import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "@countersign/db/connect.ts";
import { startEmbedded } from "@countersign/db/embedded.ts";

export interface OwnPostgres {
  readonly url: string;
  readonly dataDir: string;
  /** Makes a database and returns its address. */
  createDatabase(name: string): Promise<string>;
  dropDatabase(name: string): Promise<void>;
  /** Afterwards the server is gone and its data with it. */
  remove(): Promise<void>;
}

/** A PostgreSQL server for one run of a benchmark, as it comes with the packages: every commit waits for the disk. */
export async function startOwnPostgres(): Promise<OwnPostgres> {
  const parent = join(import.meta.dirname, "../../../.test-data");
  mkdirSync(parent, { recursive: true });
  const dataDir = mkdtempSync(join(parent, "bench-"));
  const cleanUp = fileURLToPath(import.meta.resolve("@countersign/db/testing/stop-when-orphaned.ts"));
  // Where this process is interrupted or killed, the server and its data go, too.
  const orphanage = spawn(process.execPath, [cleanUp, dataDir], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  orphanage.unref();
  const server = await startEmbedded({ dataDir });

  async function administer(statement: string): Promise<void> {
    const sql = connect(server.url, { max: 1 });
    await sql.unsafe(statement);
    await sql.end();
  }

  return {
    url: server.url,
    dataDir,
    async createDatabase(name) {
      await administer(`create database ${name}`);
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      return url.href;
    },
    dropDatabase: async (name) => await administer(`drop database ${name} with (force)`),
    async remove() {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
      orphanage.stdin.end();
    },
  };
}
