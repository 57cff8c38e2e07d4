import { ask, type Task } from "../client.ts";
import { askUntilReached, followEvents, type FollowOptions, type StreamEvent } from "../events.ts";
import { readEveryPage } from "../every-page.ts";
import { shortId } from "../find-id.ts";
import { layTasks } from "../show/task-table.ts";
import { kindOf } from "../show/words.ts";
import { createLive } from "../terminal/live.ts";
import { makeVisible } from "../terminal/visible.ts";
import type { Cli } from "../verb.ts";
import { onInterrupt } from "./interrupt.ts";

/**
 * Shows the queue as it changes until Ctrl-C: on a terminal the open tasks themselves, elsewhere a line for each that is
 * opened or closed. Throws CliError `timeout` when the time was up.
 */
export async function watchTasks(cli: Cli, timeoutSeconds: number | undefined): Promise<void> {
  const { client, terminal } = cli;
  const { style } = terminal;
  const live = createLive(terminal);
  const interrupt = onInterrupt(terminal, timeoutSeconds, "What is open waits on: ./countersign tasks ls.");
  const { signal } = interrupt;
  let isAway = false;
  let known = new Map<string, Task>();

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

  async function look(): Promise<void> {
    const tasks = await readEveryPage(async (query) => {
      const page = await askUntilReached(
        follow,
        async () => await ask(client.v1.tasks.$get({ query }, { init: { signal } }), signal),
      );
      return { rows: page.tasks, nextCursor: page.nextCursor };
    });
    const open = new Map(tasks.map((task) => [task.id, task]));
    if (terminal.isTerminal && !cli.isJson) {
      drawQueue(tasks);
    } else {
      for (const task of tasks) if (!known.has(task.id)) tell(task, "opened");
      for (const task of known.values()) if (!open.has(task.id)) tell(task, "closed");
    }
    known = open;
  }

  const follow: FollowOptions = {
    signal,
    open: async (lastEventId) =>
      await client.v1.events.$get(
        { header: lastEventId === undefined ? {} : { "last-event-id": lastEventId } },
        { init: { signal } },
      ),
    onAway(is) {
      if (cli.isJson || is === isAway) return;
      isAway = is;
      if (isAway) live.draw([style.red("… the server does not answer; trying again")]);
      // Nothing need have changed meanwhile.
      else drawQueue([...known.values()]);
    },
  };
  try {
    for await (const events of followEvents(follow)) if (events.some(mayChangeQueue)) await look();
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    live.end({ keep: true });
    interrupt.dispose();
  }
  interrupt.check();
}

/** A switch changes which cards can be decided, and a beginning or a gap may hide anything. */
function mayChangeQueue({ event, data }: StreamEvent): boolean {
  if (event !== "changes") return true;
  const { tasks, policies } = data as { readonly tasks: readonly unknown[]; readonly policies: readonly unknown[] };
  return tasks.length + policies.length > 0;
}
