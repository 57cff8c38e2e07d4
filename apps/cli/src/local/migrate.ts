import { checkServer } from "@countersign/db/boot-check.ts";
import { connect } from "@countersign/db/connect.ts";
import { migrate, type MigrateResult } from "@countersign/db/migrate.ts";
import { CliError } from "../exit.ts";
import type { Cli } from "../verb.ts";

/** `countersign migrate` */
export async function runMigrations(cli: Cli): Promise<void> {
  const url = cli.config.databaseDirectUrl ?? cli.config.databaseUrl;
  if (url === undefined) {
    throw new CliError("usage", "Which database? Set DATABASE_URL; ./countersign dev migrates its own by itself.");
  }
  const { applied, functions } = await migrateDatabase(url);
  if (cli.isJson) return cli.printJson({ applied, functions });
  const did = [...applied, ...(functions.length === 0 ? [] : [`${functions.length} functions`])];
  cli.print(did.length === 0 ? ["The database is up to date."] : did.map((name) => `Applied ${name}`));
}

/** Afterwards the database at `url` is one that this version can work with. Throws BootRefusal or MigrationRefusal. */
export async function migrateDatabase(url: string): Promise<MigrateResult> {
  const sql = connect(url, { max: 1, applicationName: "countersign migrate" });
  try {
    await checkServer(sql);
    return await migrate(sql);
  } finally {
    await sql.end();
  }
}
