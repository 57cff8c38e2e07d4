import { connect } from "@countersign/db/connect.ts";
import { migrate } from "@countersign/db/migrate.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { startRun } from "@countersign/engine/commits/start-run.ts";
import { createEngine, startEmbeddedWorker } from "@countersign/engine/create-engine.ts";
import { makeAgent } from "@countersign/engine/make-agent.ts";
import type { Model } from "@countersign/engine/model.ts";
import { defineTool } from "@countersign/engine/tool.ts";
import { v7 as uuidv7 } from "uuid";
import { z } from "zod";

/** Writes only this database, in the commit of its result: exactly once, so nobody needs to be asked. */
const lend = defineTool({
  name: "desk.lend",
  description: "Notes that a thing was lent to somebody.",
  schema: z.strictObject({ thing: z.string().min(1), to: z.string().min(1) }),
  tier: "write",
  needsApproval: false,
  effect: "transactional",
  async execute({ thing, to }, { tx }) {
    await tx`insert into lendings (thing, lent_to) values (${thing}, ${to})`;
    return { kind: "done", content: `${thing} is with ${to}` };
  },
});

/**
 * An engine in one's own process: own tables beside the engine's, own tools, any model. Runs one agent to its end, and
 * returns what it said last and what was lent.
 */
export async function runEmbedded(databaseUrl: string, model: Model): Promise<{ output: string; lendings: unknown[] }> {
  const sql = connect(databaseUrl, { applicationName: "lending desk" });
  try {
    await migrate(sql);
    await sql`create table if not exists lendings (thing text not null, lent_to text not null)`;
    const agent = await makeAgent(sql, { name: "lending desk", model: "any", toolset: ["desk.lend"] });

    const engine = createEngine({ sql, tools: [lend], model });
    const worker = startEmbeddedWorker(engine, { pollMs: 100 });
    const runId = uuidv7();
    await commitWithin(sql, startRun, {
      runId,
      workspaceId: agent.workspaceId,
      definitionId: agent.definitionId,
      definitionVersion: 1,
      startedBy: agent.userId,
      title: "a drill for Ann",
      input: JSON.stringify("Ann takes the drill."),
      grants: [],
    });
    worker.wake();
    const output = await untilEnded(runId);
    await worker.stop(1_000);
    return { output, lendings: [...(await sql`select thing, lent_to from lendings`)] };
  } finally {
    await sql.end({ timeout: 5 });
  }

  async function untilEnded(runId: string): Promise<string> {
    for (;;) {
      const [run] = await sql<{ status: string; output: string | null }[]>`
        select status, output from runs where id = ${runId}`;
      if (run?.output != null) return JSON.parse(run.output) as string;
      if (run?.status === "failed") throw new Error("the run failed; see its log");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
