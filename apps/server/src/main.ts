import { pino } from "pino";
import { parseConfig } from "./config.ts";
import { startServer } from "./serve.ts";

const config = parseConfig(process.env);
const log = pino({ level: config.logLevel, base: { process: "server" } });

const server = await startServer(config, log);
log.info({ url: server.url }, "listening");

let isStopping = false;
async function stop(signal: string): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  log.info({ signal }, "stopping");
  await server.stop();
  log.info("stopped");
}

process.on("SIGTERM", (signal) => void stop(signal));
process.on("SIGINT", (signal) => void stop(signal));
