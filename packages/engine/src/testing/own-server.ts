import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { connect, type Sql } from "@countersign/db/connect.ts";
import { startEmbedded } from "@countersign/db/embedded.ts";
import { migrate } from "@countersign/db/migrate.ts";
import { afterAll } from "vitest";

const root = join(import.meta.dirname, "../../../..");

/**
 * A server for one test file alone, migrated, that waits for the disk at each commit: for what is counted over a whole
 * server, such as transaction ids, or depends on how long a commit takes. Stopped and removed after the file's tests.
 */
export async function ownServer(): Promise<{ url: string; sql: Sql }> {
  mkdirSync(join(root, ".test-data"), { recursive: true });
  const dataDir = mkdtempSync(join(root, ".test-data", "own-"));
  const cleanUp = join(root, "packages/db/src/testing/stop-when-orphaned.ts");
  const orphanage = spawn(process.execPath, [cleanUp, dataDir], {
    cwd: root,
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  orphanage.unref();
  const server = await startEmbedded({ dataDir });
  const sql = connect(server.url, { applicationName: "countersign tests" });
  afterAll(async () => {
    await sql.end({ timeout: 1 });
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
    orphanage.stdin.end();
  });
  await migrate(sql);
  return { url: server.url, sql };
}
