import type { Command } from "commander";
import { ask, type TaskStatus } from "../client.ts";
import { CliError } from "../exit.ts";
import { findTask } from "../find-task.ts";
import { showTask } from "../show/card.ts";
import { layTasks } from "../show/task-table.ts";
import { addVerb, wholeNumber } from "../verb.ts";
import { addApprovalVerbs } from "./approvals.ts";
import { addDecisionVerbs } from "./decide.ts";
import { watchTasks } from "./watch-tasks.ts";

const statuses: readonly TaskStatus[] = ["open", "done", "dismissed", "expired", "canceled"];

/** `countersign tasks …` */
export function addTaskVerbs(program: Command): void {
  const tasks = program.command("tasks").description("The queue: what waits for a person");

  addVerb<{ status: TaskStatus; section?: string; limit: number }>(tasks, {
    usage: "ls",
    isDefault: true,
    summary: "What is open, oldest first",
    options: (command) =>
      command
        .option("--status <status>", statuses.join(", "), "open")
        .option("--section <section>", "one section only")
        .option("--limit <count>", "how many", wholeNumber(1, 200), 50),
    async run(cli, _args, { status, section, limit }) {
      if (!statuses.includes(status)) {
        throw new CliError("usage", `There is no status ${JSON.stringify(status)}; tasks are ${statuses.join(", ")}.`);
      }
      const query = { status, limit, ...(section === undefined ? {} : { section }) };
      const found = await ask(cli.client.v1.tasks.$get({ query }));
      if (cli.isJson) return cli.printJson(found.tasks);
      if (found.tasks.length === 0)
        return cli.print([status === "open" ? "Nothing waits for you." : `No task is ${status}.`]);
      cli.print(layTasks(found.tasks, cli.terminal));
      if (found.nextCursor !== null)
        cli.print([
          cli.terminal.style.dim(`… and more; these are the ${status === "open" ? "oldest" : "newest"} ${limit}.`),
        ]);
    },
  });

  addVerb(tasks, {
    usage: "show <task>",
    summary: "A task, with everything that will run if it is approved",
    async run(cli, [given = ""]) {
      const task = await findTask(cli.client, given);
      if (cli.isJson) cli.printJson(task);
      else cli.print(showTask(task, cli.terminal));
    },
  });

  addVerb<{ timeout?: number }>(tasks, {
    usage: "watch",
    summary: "The queue as it changes; Ctrl-C leaves",
    options: (command) =>
      command.option("--timeout <seconds>", "stop after so long, with exit code 5", wholeNumber(1, 1_000_000)),
    run: (cli, _args, { timeout }) => watchTasks(cli, timeout),
  });

  addDecisionVerbs(tasks);
  addApprovalVerbs(tasks);
}
