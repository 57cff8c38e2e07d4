import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startEmbedded } from "@countersign/db/embedded.ts";
import { repositoryRoot } from "../support/repository.ts";

/** A database server that waits for the disk at each commit, and that may be ended in any way and started again. */
export interface OwnPostgres {
  /** Its address; another after each start. */
  url(): string;
  start(): Promise<void>;
  /** `fast` rolls back what is under way; `immediate` is a crash: the next start recovers from the log. */
  stop(how: "fast" | "immediate"): Promise<void>;
  remove(): Promise<void>;
}

export async function startOwnPostgres(dataDir: string): Promise<OwnPostgres> {
  mkdirSync(dataDir, { recursive: true });
  // Should this process be killed, that one stops the server and removes the folder.
  const orphanage = spawn(
    process.execPath,
    [join(repositoryRoot, "packages/db/src/testing/stop-when-orphaned.ts"), dataDir],
    { cwd: repositoryRoot, detached: true, stdio: ["pipe", "ignore", "ignore"] },
  );
  orphanage.unref();
  let server = await startEmbedded({ dataDir });
  return {
    url: () => server.url,
    async start() {
      server = await startEmbedded({ dataDir });
    },
    async stop(how) {
      if (how === "immediate") {
        const [pid = ""] = readFileSync(join(dataDir, "cluster/data/postmaster.pid"), "utf8").split("\n");
        process.kill(Number(pid), "SIGQUIT");
      }
      await server.stop();
    },
    async remove() {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
      orphanage.stdin.end();
    },
  };
}
