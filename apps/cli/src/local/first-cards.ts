import { ask, type Client, type Task } from "../client.ts";
import { CliError } from "../exit.ts";
import { pause } from "../verbs/interrupt.ts";
import { demoExample, demoRuns } from "./demo.ts";

const patienceMs = 20_000;

/** Starts each run of the demo that was not started before. Returns one to start by hand, where its agent is there. */
export async function startDemoRuns(client: Client): Promise<typeof demoExample | undefined> {
  const { definitions } = await ask(client.v1.definitions.$get({ query: {} }));
  const names = new Set(definitions.map(({ name }) => name));
  for (const run of demoRuns) {
    if (!names.has(run.definition)) continue;
    await ask(client.v1.runs.$post({ header: {}, json: run })).catch((error: unknown) => {
      // An older version's demo began with other words; it is there.
      if (error instanceof CliError && "code" in error.details && error.details.code === "key_reused") return;
      throw error;
    });
  }
  return names.has(demoExample.definition) ? demoExample : undefined;
}

/** The open cards. */
export async function listCards(client: Client): Promise<Task[]> {
  const { tasks } = await ask(client.v1.tasks.$get({ query: { limit: 50 } }));
  return tasks;
}

/** The open cards, once no run of the newest is under way any more; after a while those that there are. */
export async function waitForCards(client: Client, signal: AbortSignal): Promise<Task[]> {
  const until = performance.now() + patienceMs;
  for (;;) {
    const { runs } = await ask(client.v1.runs.$get({ query: { limit: 50 } }));
    const isMoving = runs.some(({ status }) => status === "queued" || status === "running");
    if (!isMoving || signal.aborted || performance.now() > until) return await listCards(client);
    await pause(50, signal);
  }
}
