import { createInterface } from "node:readline";
import { pino } from "pino";
import { proofModel } from "./scenarios.ts";
import { skewClock } from "./skew-clock.ts";

/**
 * A server or a worker of the product, as its argument says, that is there to be killed. It has loaded everything when it
 * says `loaded`, and starts when a line comes on its standard input; where that closes it ends.
 */
const [role, skewMs = "0"] = process.argv.slice(2);
skewClock(Number(skewMs));
const log = pino();
const start = role === "server" ? await loadServer() : await loadWorker();
const lines = createInterface({ input: process.stdin });
lines.once("close", () => process.exit());
lines.once("line", () => void start().then((more) => log.info(more, "ready")));
log.info("loaded");

async function loadWorker(): Promise<() => Promise<object>> {
  const { readConfig } = await import("@countersign/worker/config.ts");
  const { work } = await import("@countersign/worker/work.ts");
  return async () => {
    await work(readConfig(), () => ({ model: proofModel }), log);
    return {};
  };
}

async function loadServer(): Promise<() => Promise<object>> {
  const { readConfig } = await import("@countersign/server/config.ts");
  const { startServer } = await import("@countersign/server/serve.ts");
  return async () => ({ url: (await startServer(readConfig(), log)).url });
}
