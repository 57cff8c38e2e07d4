import { readFile } from "node:fs/promises";
import { connect } from "@countersign/db/connect.ts";
import { Absurd } from "absurd-sdk";
import pg from "pg";
import type { Contestant } from "../contestant.ts";
import { openObserver } from "../observer.ts";

/** Tasks of one queue with a polling worker; the decision is an event. Its schema is a file of its own, at `sqlFile`. */
export function createAbsurd(sqlFile: string): Contestant {
  return {
    name: "absurd",
    settings: (atATime) => {
      const concurrency = Math.max(16, atATime);
      return [
        { concurrency, pollSeconds: 0.01, connections: 10 },
        { concurrency, pollSeconds: 0.05, connections: 20 },
        { concurrency, pollSeconds: 0.25, connections: 40 },
      ];
    },
    async prepare(url) {
      const sql = connect(url, { max: 1 });
      await sql.unsafe(await readFile(sqlFile, "utf8")).simple();
      await sql.end();
      const absurd = new Absurd({ db: url, queueName: "bench" });
      await absurd.createQueue();
      await absurd.close();
    },
    async open(url, { concurrency = 16, pollSeconds = 0.05, connections = 10 }, onEffect) {
      const pool = new pg.Pool({ connectionString: url, max: connections });
      const absurd = new Absurd({ db: pool, queueName: "bench" });
      absurd.registerTask({ name: "gated-run" }, async (_params, ctx) => {
        await ctx.step("turn 1", async () => "call");
        await ctx.awaitEvent(`decision:${ctx.taskID}`);
        await ctx.step("effect", async () => {
          onEffect(ctx.taskID);
          return "ok";
        });
        await ctx.step("turn 2", async () => "done");
      });
      const serverPool = new pg.Pool({ connectionString: url, max: 10 });
      const server = new Absurd({ db: serverPool, queueName: "bench" });
      const observer = await openObserver(url);
      await absurd.startWorker({ concurrency, pollInterval: pollSeconds, claimTimeout: 120 });
      return {
        start: async () => (await server.spawn("gated-run", {}, { queue: "bench" })).taskID,
        async observe(undecided, decided) {
          const ofState = async (ids: readonly string[], state: string) =>
            ids.length === 0
              ? []
              : await observer.unsafe<{ id: string }[]>(
                  "select task_id as id from absurd.t_bench where task_id = any ($1::uuid[]) and state = $2",
                  [ids as string[], state],
                  { prepare: true },
                );
          const [waiting, ended] = await Promise.all([ofState(undecided, "sleeping"), ofState(decided, "completed")]);
          return {
            waiting: waiting.map(({ id }) => ({ id, decide: () => server.emitEvent(`decision:${id}`, "approve") })),
            ended: ended.map(({ id }) => id),
          };
        },
        async close() {
          await absurd.close();
          await Promise.all([pool.end(), serverPool.end(), observer.end()]);
        },
      };
    },
  };
}
