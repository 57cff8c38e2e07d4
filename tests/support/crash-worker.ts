import { readConfig } from "@countersign/worker/config.ts";
import { work } from "@countersign/worker/work.ts";
import { createScriptedModel } from "@countersign/engine/scripted-model.ts";
import { pino } from "pino";

/** The worker of the product, playing the gated scenario: two parallel calls, one of them a mail, then the end. */
const model = createScriptedModel({
  crash: ({ turn }) =>
    turn === 0
      ? {
          say: "a note and a mail",
          use: [
            { tool: "tasks.create", args: { title: "follow up" } },
            { tool: "mail.send", args: { to: ["b@example.com"], subject: "hello", text: "once" } },
          ],
        }
      : { say: "done" },
});

const log = pino();
const worker = await work(readConfig(), () => ({ model }), log);
log.info("ready");
process.on("SIGTERM", () => void worker.stop());
