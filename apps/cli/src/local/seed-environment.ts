import { becomeClean } from "@countersign/broker/become-clean.ts";
import { loadKeyring } from "@countersign/broker/keyring.ts";
import { seedFromEnvironment, type SeedReport } from "@countersign/broker/seed-from-environment.ts";
import { connect } from "@countersign/db/connect.ts";
import type { CliConfig } from "../config.ts";
import type { Announcer } from "./announce.ts";
import { migrateDatabase } from "./migrate.ts";
import { findHome } from "./seed.ts";
import { findDatabase, type StartOptions } from "./start-all.ts";

/**
 * Stores the secrets that the environment holds, says by name what became of each, and then starts this process anew
 * without them, so that no process of ours has them in its environment. Returns never; PostgreSQL runs on for the fresh
 * start. Throws the signal's reason where it is aborted before.
 */
export async function seedAndBecomeClean(
  config: CliConfig,
  announcer: Announcer,
  { signal, onStarted }: Pick<StartOptions, "signal" | "onStarted">,
): Promise<never> {
  announcer.doing("the secrets of the environment are stored");
  const { direct } = await findDatabase(config, onStarted);
  await migrateDatabase(direct);
  const sql = connect(direct, { max: 2, applicationName: "countersign dev, seeding" });
  try {
    const { workspaceId } = await findHome(sql);
    const { current, keyring } = await loadKeyring(config.dataDir);
    const reports = await seedFromEnvironment(sql, current.publicKey, config.environment, { workspaceId, keyring });
    for (const report of reports) announcer.note(textOf(report));
  } finally {
    await sql.end();
  }
  signal.throwIfAborted();
  announcer.close();
  return becomeClean(config.environment);
}

function textOf({ variables, capability, outcome, missing = [] }: SeedReport): string {
  const names = variables.join(", ");
  switch (outcome) {
    case "seeded":
      return `${names}: stored as the secret ${capability}`;
    case "kept":
      return `${names}: the secret ${capability} is stored already`;
    case "kept: environment differs":
      return `${names}: another secret is stored for ${capability}, and stays; change it with ./countersign secrets set`;
    case "kept: deleted":
      return `${names}: the secret of ${capability} was deleted, and stays so; bring it back with ./countersign secrets set`;
    case "incomplete":
      return `${names}: not stored, since ${missing.join(", ")} is not set`;
    case "refused: too short":
      return `${names}: not stored, since a secret needs 8 characters`;
    case "refused: not text":
      return `${names}: not stored, since it is not text`;
  }
}
