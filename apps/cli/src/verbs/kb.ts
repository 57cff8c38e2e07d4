import type { Command } from "commander";
import { ask, type Client } from "../client.ts";
import { findListedId, shortId } from "../find-id.ts";
import { findPageId } from "../find-page.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { layTable } from "../terminal/table.ts";
import { relativeTime } from "../terminal/time.ts";
import { makeVisible, visibleLines } from "../terminal/visible.ts";
import { addVerb, wholeNumber } from "../verb.ts";
import { addAccessVerbs } from "./kb-access.ts";
import { addPageFileVerbs } from "./kb-files.ts";

/** `countersign kb …` */
export function addKnowledgeVerbs(program: Command): void {
  const kb = program.command("kb").description("The knowledge base: pages, as files too, and their history");
  addPageFileVerbs(kb);
  addAccessVerbs(kb);

  addVerb(kb, {
    usage: "search <words...>",
    summary: "The ten best hits for some words, each with where its page lies and the id that read takes",
    async run(cli, words) {
      const { hits, leftOut } = await ask(cli.client.v1.search.$get({ query: { q: words.join(" ") } }));
      if (cli.isJson) return cli.printJson(hits);
      const { style } = cli.terminal;
      if (hits.length === 0) cli.print(["Nothing was found."]);
      for (const { pageId, pageTitle, dir, excerpt } of hits) {
        const text =
          excerpt === ""
            ? ""
            : `: ${visibleLines(excerpt.replaceAll(/(?<!\s)\s*\n\s*/g, "\n"))
                .join(" ⏎ ")
                .slice(0, 200)}`;
        const where = dir === "" ? "at the top" : `in ${makeVisible(dir)}`;
        cli.print([`${style.cyan(makeVisible(pageTitle))}${text}`, style.dim(`  ${where}, ${pageId}`)]);
      }
      cli.print(leftOut.map(({ list, reason }) => style.dim(makeVisible(`Not searched by ${list}: ${reason}.`))));
    },
  });

  addVerb<{ limit: number }>(kb, {
    usage: "ls [directory]",
    summary: "Pages by title, each with its directory: all that you may read, or those right in one directory",
    options: (command) => command.option("--limit <count>", "how many", wholeNumber(1, 200), 100),
    async run(cli, [dir], { limit }) {
      const query = { limit, ...(dir === undefined ? {} : { dir }) };
      const { pages, nextCursor } = await ask(cli.client.v1.pages.$get({ query }));
      if (cli.isJson) return cli.printJson(pages);
      if (pages.length === 0) return cli.print(["There is no page here that you may read."]);
      const { style, size } = cli.terminal;
      const rows = pages.map((page) => [
        { text: shortId(page.id), paint: style.cyan },
        { text: makeVisible(page.title), paint: style.bold },
        { text: makeVisible(page.dir), paint: style.dim },
      ]);
      cli.print([
        ...layTable(rows, 1, size().columns),
        ...(nextCursor === null ? [] : [style.dim("There are more: name a directory, raise --limit, or search.")]),
      ]);
    },
  });

  addVerb<{ ids?: boolean }>(kb, {
    usage: "read <page>",
    summary: "A page's text, by its title, alias or id",
    options: (command) => command.option("--ids", "with the ids of its bullets"),
    async run(cli, [given = ""], { ids }) {
      const id = await findPageId(cli.client, given);
      const query = { ids: ids === true || cli.isJson ? ("true" as const) : ("false" as const) };
      const page = await ask(cli.client.v1.pages[":id"].$get({ param: { id }, query }));
      if (cli.isJson) return cli.printJson(page);
      cli.terminal.write(textFor(cli.terminal, page.okf));
    },
  });

  addVerb<{ limit: number }>(kb, {
    usage: "history [page]",
    summary: "What was changed, newest first: of a page, or of all that you may read",
    options: (command) => command.option("--limit <count>", "how many", wholeNumber(1, 200), 50),
    async run(cli, [given], { limit }) {
      const page = given === undefined ? {} : { page: await findPageId(cli.client, given) };
      const { commands } = await ask(cli.client.v1.commands.$get({ query: { limit, ...page } }));
      if (cli.isJson) return cli.printJson(commands);
      if (commands.length === 0) return cli.print(["Nothing was changed yet."]);
      const { style, size } = cli.terminal;
      const rows = commands.map((command) => [
        { text: shortId(command.id), paint: style.cyan },
        { text: makeVisible(command.pageTitle), paint: style.bold },
        { text: `${command.kind}${command.undoneBy === null ? "" : " (taken back)"}` },
        { text: `revision ${command.revision}`, paint: style.dim },
        {
          text: `${makeVisible(command.by.name)}${command.runId === null ? "" : `, run ${shortId(command.runId)}`}`,
          paint: style.dim,
        },
        { text: relativeTime(command.at), paint: style.dim },
      ]);
      cli.print(layTable(rows, 1, size().columns));
    },
  });

  addVerb(kb, {
    usage: "undo <change>",
    summary: "Take a change back, where what it changed is still as it left it",
    async run(cli, [given = ""]) {
      const id = await findCommandId(cli.client, given);
      const undone = await ask(cli.client.v1.commands[":id"].undo.$post({ param: { id } }));
      if (cli.isJson) return cli.printJson(undone);
      cli.print([
        `${cli.terminal.style.green("✔")} It is taken back; the page is at revision ${undone.revision}. Undo ${shortId(undone.commandId ?? "")} to have it again.`,
      ]);
    },
  });
}

async function findCommandId(client: Client, given: string): Promise<string> {
  return await findListedId("change", given, async (query) => {
    const { commands, nextCursor } = await ask(client.v1.commands.$get({ query }));
    return { ids: commands.map(({ id }) => id), nextCursor };
  });
}

/** A page as a terminal may show it, wherever the input is from; elsewhere as it is, for programs. */
export function textFor({ isTerminal }: Pick<Terminal, "isTerminal">, okf: string): string {
  return isTerminal ? okf.split("\n").map(makeVisible).join("\n") : okf;
}
