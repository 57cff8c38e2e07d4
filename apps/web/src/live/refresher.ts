import type { QueryClient } from "@tanstack/react-query";
import { readAnew } from "./read-anew.ts";
import { readTasks } from "./read-tasks.ts";
import type { StreamMessage } from "./stream.ts";

type News = Extract<StreamMessage, { kind: "changes" | "everything" }>;

/** The shortest time between two readings of the same noun: a busy run has news all the time. */
const betweenMs = 150;

/**
 * Reads again what changed, noun by noun: keys begin with the noun, so that a change of a run or task finds its lists and
 * its page. What is being read is never cut off by further news, which are read after it: else a run with much to read and
 * much to tell would never be shown.
 */
export function createRefresher(client: QueryClient): (news: News) => void {
  const waiting = new Map<string, Set<string>>();
  const busy = new Set<string>();

  function ask(noun: string, ids: readonly string[]): void {
    if (ids.length === 0) return;
    waiting.set(noun, new Set([...(waiting.get(noun) ?? []), ...ids]));
    if (!busy.has(noun)) void work(noun);
  }

  async function work(noun: string): Promise<void> {
    busy.add(noun);
    for (let ids = waiting.get(noun); ids !== undefined; ids = waiting.get(noun)) {
      waiting.delete(noun);
      await (noun === "tasks" ? readTasks(client, ids) : read(noun, ids));
      await new Promise((done) => setTimeout(done, betweenMs));
    }
    busy.delete(noun);
  }

  async function read(noun: string, ids: ReadonlySet<string>): Promise<void> {
    await readAnew(client, {
      predicate: ({ queryKey: [first, id] }) => first === noun && (typeof id !== "string" || ids.has(id)),
    });
  }

  return (news) => {
    // A switch or a rule changes how every run under it reads, and touches none of their rows.
    if (news.kind === "everything" || news.policies.length > 0) return void readAnew(client);
    ask("runs", news.runs);
    ask(
      "tasks",
      news.tasks.map((task) => task.id),
    );
  };
}
