import type { Command } from "commander";
import { ask } from "../client.ts";
import { CliError } from "../exit.ts";
import { findListedId, shortId } from "../find-id.ts";
import { layTable } from "../terminal/table.ts";
import { absoluteTime, relativeTime } from "../terminal/time.ts";
import { makeVisible } from "../terminal/visible.ts";
import { addVerb, wholeNumber } from "../verb.ts";

/** `countersign reminders …` */
export function addReminderVerbs(program: Command): void {
  const reminders = program.command("reminders").description("Reminders: each becomes a task when it is due");

  addVerb<{ limit: number }>(reminders, {
    usage: "ls",
    isDefault: true,
    summary: "What waits for its time, the next first",
    options: (command) => command.option("--limit <count>", "how many", wholeNumber(1, 200), 50),
    async run(cli, _args, { limit }) {
      const { reminders: found } = await ask(cli.client.v1.reminders.$get({ query: { limit } }));
      if (cli.isJson) return cli.printJson(found);
      if (found.length === 0) return cli.print(["No reminder is set."]);
      const { style, size } = cli.terminal;
      const rows = found.map((reminder) => [
        { text: shortId(reminder.id), paint: style.cyan },
        { text: makeVisible(reminder.text), paint: style.bold },
        { text: relativeTime(reminder.dueAt) },
        { text: absoluteTime(reminder.dueAt), paint: style.dim },
      ]);
      cli.print(layTable(rows, 1, size().columns - 1));
    },
  });

  addVerb(reminders, {
    usage: "add <time> <text>",
    summary:
      "Set a reminder, for a time with its offset such as 2026-01-31T09:00:00+01:00; a time that has passed is due at once",
    async run(cli, [dueAt = "", text = ""]) {
      requireMoment(dueAt);
      const set = await ask(cli.client.v1.reminders.$post({ header: {}, json: { dueAt, text } }));
      if (cli.isJson) return cli.printJson(set);
      const isPast = new Date(set.dueAt).getTime() <= Date.now();
      cli.print([
        `${cli.terminal.style.green("✔")} ${shortId(set.id)} is set for ${absoluteTime(set.dueAt)}.${isPast ? " That has passed, so it is due at once." : ""}`,
      ]);
    },
  });

  addVerb(reminders, {
    usage: "cancel <reminder>",
    summary: "Cancel a reminder whose time has not come",
    async run(cli, [given = ""]) {
      const id = await findListedId("reminder", given, async (query) => {
        const { reminders: found, nextCursor } = await ask(cli.client.v1.reminders.$get({ query }));
        return { ids: found.map((reminder) => reminder.id), nextCursor };
      });
      const canceled = await ask(cli.client.v1.reminders[":id"].cancel.$post({ param: { id } }));
      if (cli.isJson) cli.printJson(canceled);
      else cli.print([`${cli.terminal.style.green("✔")} canceled: ${makeVisible(canceled.text)}`]);
    },
  });
}

/** The form alone; what is no day of the calendar is for the server to refuse. */
function requireMoment(text: string): void {
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/.test(text)) return;
  const isWithoutOffset = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?$/.test(text);
  const what = isWithoutOffset ? ", which does not say in which zone" : "";
  throw new CliError(
    "usage",
    `<time> is ${JSON.stringify(text)}${what}; expected a day and a time with its offset, such as 2026-01-31T09:00:00+01:00, or ending in Z for UTC. No reminder was set.`,
  );
}
