import { OpenWorkflow } from "openworkflow";
import { BackendPostgres } from "openworkflow/postgres";
import postgres from "postgres";
import type { Contestant } from "../contestant.ts";
import { openObserver } from "../observer.ts";

/** As its own `connect` opens a pool, but with the number of connections to choose. */
function poolOf(url: string, max: number) {
  return postgres(url, { max, transform: { column: { from: postgres.toCamel } }, onnotice: () => undefined });
}

/** Workflows with a polling worker; the decision is a signal, and is sent only once the wait for it is in the database. */
export const openworkflow: Contestant = {
  name: "openworkflow",
  settings: (atATime) => [
    { concurrency: Math.max(16, atATime), connections: 10 },
    { concurrency: Math.max(16, atATime), connections: 20 },
    { concurrency: 16, connections: 20 },
  ],
  async prepare(url) {
    await (await BackendPostgres.connect(url)).stop();
  },
  async open(url, { concurrency = 16, connections = 10 }, onEffect) {
    const pools = [poolOf(url, connections), poolOf(url, 10)] as const;
    const [worker, server] = pools.map((pool) => new OpenWorkflow({ backend: BackendPostgres.fromPool(pool) }));
    if (worker === undefined || server === undefined) throw new Error("A client is missing");
    const gatedRun = worker.defineWorkflow<object, void>({ name: "gated-run" }, async ({ step, run }) => {
      await step.run({ name: "turn 1" }, () => "call");
      await step.waitForSignal({ name: "gate", signal: `decision:${run.id}`, timeout: "1d" });
      await step.run({ name: "effect" }, () => onEffect(run.id));
      await step.run({ name: "turn 2" }, () => "done");
    });
    const running = worker.newWorker({ concurrency });
    await running.start();
    const observer = await openObserver(url);
    return {
      start: async () => (await server.runWorkflow(gatedRun.workflow.spec, {})).workflowRun.id,
      async observe(undecided, decided) {
        const [waiting, ended] = await Promise.all([
          undecided.length === 0
            ? []
            : observer.unsafe<{ id: string }[]>(
                `select r.id from openworkflow.workflow_runs r
                   join openworkflow.step_attempts s on s.namespace_id = r.namespace_id and s.workflow_run_id = r.id
                  where r.namespace_id = 'default' and r.id = any ($1::text[]) and r.worker_id is null and s.kind = 'signal-wait'`,
                [undecided as string[]],
                { prepare: true },
              ),
          decided.length === 0
            ? []
            : observer.unsafe<{ id: string }[]>(
                "select id from openworkflow.workflow_runs where namespace_id = 'default' and id = any ($1::text[]) and status in ('completed', 'succeeded')",
                [decided as string[]],
                { prepare: true },
              ),
        ]);
        return {
          waiting: waiting.map(({ id }) => ({
            id,
            decide: async () => {
              const { workflowRunIds } = await server.sendSignal({ signal: `decision:${id}`, data: "approve" });
              if (workflowRunIds.length === 0) throw new Error(`Nobody waited for the decision of ${id}`);
            },
          })),
          ended: ended.map(({ id }) => id),
        };
      },
      async close() {
        await running.stop();
        await Promise.all([...pools.map((pool) => pool.end()), observer.end()]);
      },
    };
  },
};
