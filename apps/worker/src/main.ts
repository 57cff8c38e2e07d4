import { awaitDatabase } from "@countersign/db/await-database.ts";
import { giveBackMemory } from "@countersign/db/give-back-memory.ts";
import { Refusal } from "@countersign/db/refusal.ts";
import { destination, pino } from "pino";
import { readConfig } from "./config.ts";
import { chooseProvider } from "./provider.ts";
import { describeError } from "./report.ts";
import { shedSecrets } from "./seed-secrets.ts";
import { work } from "./work.ts";

async function main(): Promise<void> {
  const config = readConfig();
  // Each line is written before the call returns: what is on its way when `becomeClean` replaces the process is lost.
  const log = pino({ level: config.logLevel, base: { process: "worker" } }, destination({ sync: true }));
  process.on("uncaughtException", (error) => {
    // Its own text may quote what a library was working on, and Node would print it.
    log.fatal({ error: describeError(error, log) }, "an error that nobody caught; the worker ends");
    process.exit(1);
  });
  const onWait = (problem: string): void => log.warn({ problem }, "waiting for the database");
  await awaitDatabase(() => shedSecrets(config, log), onWait);
  const provider = await chooseProvider(config);
  const worker = await awaitDatabase(() => work(config, provider, log), onWait);
  giveBackMemory();

  let isStopping = false;
  const stop = async (signal: string): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    log.info({ signal, inHand: worker.inHand() }, "stopping");
    try {
      await worker.stop();
      log.info("stopped");
    } catch (error) {
      process.exitCode = 1;
      log.error({ error: describeError(error, log) }, "the worker did not stop in good order");
    }
    // A driver that was connecting when it was told to end may hold a socket open for good.
    process.exit();
  };
  process.on("SIGTERM", (signal) => void stop(signal));
  process.on("SIGINT", (signal) => void stop(signal));
  // Last: whoever hears it may stop the worker at once.
  log.info({ capacity: config.capacity, provider: config.providers ?? "anthropic" }, "ready");
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Refusal ? error.message : error);
  process.exitCode = 1;
}
