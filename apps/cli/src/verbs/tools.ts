import type { Command } from "commander";
import { ask } from "../client.ts";
import { layJson } from "../show/json-text.ts";
import { layTable } from "../terminal/table.ts";
import { makeVisible, visibleLines } from "../terminal/visible.ts";
import { addVerb } from "../verb.ts";

/** `countersign tools …`: what agents can be given. */
export function addToolVerbs(program: Command): void {
  const tools = program.command("tools").description("Tools: what definitions may offer, and what each takes");

  addVerb(tools, {
    usage: "ls",
    isDefault: true,
    summary: "Every tool that a definition may offer",
    async run(cli) {
      const { tools: found } = await ask(cli.client.v1.tools.$get());
      if (cli.isJson) return cli.printJson(found);
      const { style, size } = cli.terminal;
      const rows = found.map(({ name, effect, description }) => [
        { text: makeVisible(name), paint: style.cyan },
        { text: effect },
        { text: makeVisible(description.split("\n")[0] ?? ""), paint: style.dim },
      ]);
      cli.print(layTable(rows, 2, size().columns));
    },
  });

  addVerb(tools, {
    usage: "show <name>",
    summary: "One tool: what it does, the arguments it takes, and what the gate reads of it",
    async run(cli, [name = ""]) {
      const tool = await ask(cli.client.v1.tools[":name"].$get({ param: { name } }));
      if (cli.isJson) return cli.printJson(tool);
      const { style } = cli.terminal;
      const fact = (word: string, text: string) => `${style.dim(word)} ${makeVisible(text)}`;
      cli.print([
        style.bold(makeVisible(tool.name)),
        ...visibleLines(tool.description),
        fact("effect", tool.effect),
        fact("risk", tool.risk),
        fact("needs approval", tool.needsApproval),
        ...(tool.requires.length === 0 ? [] : [fact("requires", tool.requires.join(", "))]),
        style.dim("arguments, as JSON Schema"),
        ...layJson(JSON.stringify(tool.inputSchema)).map(({ indent, text }) => " ".repeat(indent) + makeVisible(text)),
      ]);
    },
  });
}
