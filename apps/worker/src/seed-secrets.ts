import { becomeClean, holdsSecrets } from "@countersign/broker/become-clean.ts";
import { loadKeyring } from "@countersign/broker/keyring.ts";
import { seedFromEnvironment, type SeedReport } from "@countersign/broker/seed-from-environment.ts";
import { checkServer, checkTables } from "@countersign/db/boot-check.ts";
import { connect, type Queryable } from "@countersign/db/connect.ts";
import type { Logger } from "pino";
import type { WorkerConfig } from "./config.ts";

type SeedConfig = Pick<WorkerConfig, "databaseUrl" | "dataDir" | "environment" | "seedWorkspaceId">;

/**
 * Afterwards this process has no secret in its environment. Where it had any, they are stored, and it has started anew:
 * then this call does not return.
 */
export async function shedSecrets(config: SeedConfig, log: Logger): Promise<void> {
  if (!holdsSecrets(config.environment)) return;
  await seedSecrets(config, log);
  becomeClean(config.environment);
}

/**
 * Afterwards the secrets that the environment holds are stored, where the workspace had none of their kind, and the log
 * says by name what became of each. The workspace is the configured one, else the oldest. Throws BootRefusal and BrokerError.
 */
async function seedSecrets(config: SeedConfig, log: Logger): Promise<void> {
  const sql = connect(config.databaseUrl, { max: 1, applicationName: "countersign worker, seeding" });
  try {
    await checkServer(sql);
    await checkTables(sql);
    const workspaceId = config.seedWorkspaceId ?? (await findOldestWorkspace(sql));
    if (workspaceId === undefined) {
      log.warn(
        "there is no workspace yet, so no secret of the environment was stored; make one with ./countersign init, then start the worker again",
      );
      return;
    }
    const { current, keyring } = await loadKeyring(config.dataDir);
    const reports = await seedFromEnvironment(sql, current.publicKey, config.environment, { workspaceId, keyring });
    for (const report of reports)
      log[levelOf(report)]({ ...report, workspaceId }, `secret of the environment: ${report.outcome}`);
  } finally {
    await sql.end();
  }
}

async function findOldestWorkspace(sql: Queryable): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`select id from workspaces order by created_at, id limit 1`;
  return row?.id;
}

function levelOf({ outcome }: SeedReport): "info" | "warn" {
  return outcome === "seeded" || outcome === "kept" ? "info" : "warn";
}
