import { randomUUID } from "node:crypto";
import { Annotation, Command, interrupt, START, StateGraph } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";
import type { Contestant } from "../contestant.ts";

const State = Annotation.Root({ id: Annotation<string>, said: Annotation<string> });

function buildGraph(pool: pg.Pool, onEffect: (id: string) => void) {
  return new StateGraph(State)
    .addNode("turn1", () => ({ said: "call" }))
    .addNode("gate", () => ({ said: interrupt<string, string>("May it?") }))
    .addNode("effect", ({ id }) => {
      onEffect(id);
      return { said: "ok" };
    })
    .addNode("turn2", () => ({ said: "done" }))
    .addEdge(START, "turn1")
    .addEdge("turn1", "gate")
    .addEdge("gate", "effect")
    .addEdge("effect", "turn2")
    .compile({ checkpointer: new PostgresSaver(pool) });
}

/**
 * A graph with checkpoints, each written before the next node. It has no worker and no queue: whoever starts and whoever
 * decides runs the graph itself, and nobody takes over from a process that died. So what waits and what has ended is
 * known in this process, and the database is not asked.
 */
export const langgraph: Contestant = {
  name: "LangGraph",
  settings: () => [{ connections: 10 }, { connections: 20 }, { connections: 40 }],
  async prepare(url) {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    await new PostgresSaver(pool).setup();
    await pool.end();
  },
  async open(url, { connections = 10 }, onEffect) {
    const pools = [connections, connections].map((max) => new pg.Pool({ connectionString: url, max }));
    const [starter, decider] = pools.map((pool) => buildGraph(pool, onEffect));
    if (starter === undefined || decider === undefined) throw new Error("A graph is missing");
    const configOf = (id: string) => ({ configurable: { thread_id: id }, durability: "sync" as const });
    const waiting = new Set<string>();
    const ended = new Set<string>();
    let failure: Error | undefined;

    async function runToGate(id: string): Promise<void> {
      const state = await starter?.invoke({ id, said: "please" }, configOf(id));
      if (state === undefined || !("__interrupt__" in state)) throw new Error("The graph did not stop at its gate");
      waiting.add(id);
    }

    return {
      async start() {
        const id = randomUUID();
        runToGate(id).catch((cause: unknown) => {
          failure = new Error(`The graph of ${id} failed`, { cause });
        });
        return id;
      },
      async observe() {
        if (failure !== undefined) throw failure;
        const seen = {
          waiting: [...waiting].map((id) => ({
            id,
            decide: async () => {
              await decider.invoke(new Command({ resume: "approve" }), configOf(id));
              ended.add(id);
            },
          })),
          ended: [...ended],
        };
        waiting.clear();
        ended.clear();
        return seen;
      },
      async close() {
        await Promise.all(pools.map((pool) => pool.end()));
      },
    };
  },
};
