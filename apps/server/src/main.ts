import { awaitDatabase } from "@countersign/db/await-database.ts";
import { giveBackMemory } from "@countersign/db/give-back-memory.ts";
import { Refusal } from "@countersign/db/refusal.ts";
import { type Logger, pino } from "pino";
import { addressWarnings } from "./address-warnings.ts";
import { readConfig, type ServerConfig } from "./config.ts";
import { startServer } from "./serve.ts";

/** Serves until SIGTERM or SIGINT; what was in hand is answered first. */
async function run(config: ServerConfig, log: Logger): Promise<void> {
  const server = await awaitDatabase(
    () => startServer(config, log),
    (problem) => log.warn({ problem }, "waiting for the database"),
  );
  const { publicUrl } = config;
  log.info({ url: server.url, ...(publicUrl === undefined ? {} : { publicUrl }) }, "listening");
  for (const warning of addressWarnings(config)) log.warn(warning);
  giveBackMemory();
  let isStopping = false;
  const stop = async (signal: string): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    log.info({ signal }, "stopping");
    await server.stop();
    log.info("stopped");
    // A driver that was connecting when it was told to end may hold a socket open for good.
    process.exit();
  };
  process.on("SIGTERM", (signal) => void stop(signal));
  process.on("SIGINT", (signal) => void stop(signal));
}

try {
  const config = readConfig();
  await run(config, pino({ level: config.logLevel, base: { process: "server" } }));
} catch (error) {
  console.error(error instanceof Refusal ? error.message : error);
  process.exitCode = 1;
}
