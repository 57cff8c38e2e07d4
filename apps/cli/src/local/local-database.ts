import { existsSync } from "node:fs";
import { join } from "node:path";
import { connect, type Sql } from "@countersign/db/connect.ts";
import { startEmbedded } from "@countersign/db/embedded.ts";
import type { CliConfig } from "../config.ts";
import { CliError } from "../exit.ts";

/**
 * Does `body` with the database of this machine: the one of DATABASE_URL, else the data folder's own, which is started for
 * as long as it takes where it does not run. Throws CliError where there is neither.
 */
export async function withLocalDatabase<T>(config: CliConfig, body: (sql: Sql) => Promise<T>): Promise<T> {
  const configured = config.databaseDirectUrl ?? config.databaseUrl;
  if (configured !== undefined) return await withSql(configured, body);
  const dataDir = join(config.dataDir, "postgres");
  if (!existsSync(dataDir)) {
    throw new CliError(
      "usage",
      `Which database? Set DATABASE_URL; ${config.dataDir} has none of its own, since ./countersign dev was not started with it.`,
    );
  }
  const postgres = await startEmbedded({ dataDir });
  try {
    return await withSql(postgres.url, body);
  } finally {
    if (!postgres.reused) await postgres.stop();
  }
}

async function withSql<T>(url: string, body: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = connect(url, { max: 2, applicationName: "countersign command line" });
  try {
    return await body(sql);
  } finally {
    await sql.end();
  }
}
