import { ask, isOutOfReach, type Task } from "../client.ts";
import { shortId } from "../find-id.ts";
import { layTasks } from "../show/task-table.ts";
import { kindOf } from "../show/words.ts";
import { createLive } from "../terminal/live.ts";
import { makeVisible } from "../terminal/visible.ts";
import type { Cli } from "../verb.ts";
import { onInterrupt, pause } from "./interrupt.ts";

/** How often the queue is looked at. */
const lookEveryMs = 1_000;

/** The most tasks that are followed. */
const most = 200;

/**
 * Shows the queue as it changes until Ctrl-C: on a terminal the open tasks themselves, elsewhere a line for each that is
 * opened or closed. Throws CliError `timeout` when the time was up.
 */
export async function watchTasks(cli: Cli, timeoutSeconds: number | undefined): Promise<void> {
  const { client, terminal } = cli;
  const { style } = terminal;
  const live = createLive(terminal);
  const interrupt = onInterrupt(timeoutSeconds);
  const { signal } = interrupt;
  let known = new Map<string, Task>();
  let hasLooked = false;

  function tell(task: Task, event: "opened" | "closed"): void {
    if (cli.isJson) return cli.printJson({ event, task });
    const { sign, word } = kindOf(task);
    cli.print([
      `${event === "opened" ? sign : "✔"} ${shortId(task.id)}  ${event === "opened" ? word : "closed"}  ${makeVisible(task.title)}`,
    ]);
  }

  function drawQueue(tasks: readonly Task[]): void {
    const { rows } = terminal.size();
    const room = Math.max(1, rows - 5);
    const lines = layTasks(tasks.slice(0, room), terminal);
    const more = tasks.length - lines.length;
    const count = tasks.length === 1 ? "1 task waits for you" : `${tasks.length} tasks wait for you`;
    live.draw([
      style.bold(tasks.length === 0 ? "Nothing waits for you" : count),
      "",
      ...lines,
      ...(more > 0 ? [style.dim(`… and ${more} more`)] : []),
      ...(tasks.length === 0 ? [] : [""]),
      style.dim("./countersign tasks show <task>   Ctrl-C to leave"),
    ]);
  }

  try {
    while (!signal.aborted) {
      try {
        const { tasks } = await ask(client.v1.tasks.$get({ query: { limit: most } }, { init: { signal } }), signal);
        const open = new Map(tasks.map((task) => [task.id, task]));
        if (terminal.isTerminal && !cli.isJson) {
          drawQueue(tasks);
        } else {
          for (const task of tasks) if (!known.has(task.id)) tell(task, "opened");
          for (const task of known.values()) if (!open.has(task.id)) tell(task, "closed");
        }
        known = open;
        hasLooked = true;
      } catch (error) {
        if (signal.aborted) break;
        if (!isOutOfReach(error) || !hasLooked) throw error;
        live.draw([style.red("… the server does not answer; trying again")]);
      }
      await pause(lookEveryMs, signal);
    }
  } finally {
    live.end({ keep: true });
    interrupt.dispose();
  }
  interrupt.check();
}
