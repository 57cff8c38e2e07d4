import { DBOS, DBOSClient } from "@dbos-inc/dbos-sdk";
import { randomUUID } from "node:crypto";
import type { Contestant } from "../contestant.ts";
import { openObserver } from "../observer.ts";

let onEffect: (id: string) => void = () => undefined;

const gatedRun = DBOS.registerWorkflow(
  async (): Promise<void> => {
    const id = DBOS.workflowID ?? "";
    await DBOS.runStep(async () => "call", { name: "turn 1" });
    const decision = await DBOS.recv<string>("decision", 86_400);
    if (decision !== "approve") throw new Error("The decision did not arrive");
    await DBOS.runStep(async () => onEffect(id), { name: "effect" });
    await DBOS.runStep(async () => "done", { name: "turn 2" });
  },
  { name: "gatedRun" },
);

const quiet = { info: () => undefined, debug: () => undefined, warn: () => undefined, error: console.error };

/** Workflows that run in the process that starts them; the decision is a message, and LISTEN tells of it. */
export const dbos: Contestant = {
  name: "DBOS",
  settings: () => [{ connections: 10 }, { connections: 20 }, { connections: 40 }],
  prepare: async (url) => await DBOS.migrate(url),
  async open(url, { connections = 10 }, heard) {
    onEffect = heard;
    DBOS.setConfig({ name: "bench", systemDatabaseUrl: url, systemDatabasePoolSize: connections, logger: quiet });
    await DBOS.launch();
    const client = await DBOSClient.create({
      systemDatabaseUrl: url,
      systemDatabasePoolSize: 10,
      logger: quiet,
      applicationName: "bench",
    });
    const observer = await openObserver(url);
    return {
      async start() {
        const id = randomUUID();
        await DBOS.startWorkflow(gatedRun, { workflowID: id })();
        return id;
      },
      async observe(undecided, decided) {
        const [waiting, ended] = await Promise.all([
          undecided.length === 0
            ? []
            : observer.unsafe<{ id: string }[]>(
                "select workflow_uuid as id from dbos.operation_outputs where workflow_uuid = any ($1::text[]) and function_name = 'DBOS.sleep'",
                [undecided as string[]],
                { prepare: true },
              ),
          decided.length === 0
            ? []
            : observer.unsafe<{ id: string }[]>(
                "select workflow_uuid as id from dbos.workflow_status where workflow_uuid = any ($1::text[]) and status = 'SUCCESS'",
                [decided as string[]],
                { prepare: true },
              ),
        ]);
        return {
          waiting: waiting.map(({ id }) => ({ id, decide: () => client.send(id, "approve", "decision") })),
          ended: ended.map(({ id }) => id),
        };
      },
      async close() {
        await client.destroy();
        await DBOS.shutdown();
        await observer.end();
      },
    };
  },
};
