import type { Command } from "commander";
import { ask, type Client } from "../client.ts";
import { CliError } from "../exit.ts";
import { findListedId, shortId } from "../find-id.ts";
import { layTable } from "../terminal/table.ts";
import { relativeTime } from "../terminal/time.ts";
import { makeVisible } from "../terminal/visible.ts";
import { addVerb, wholeNumber } from "../verb.ts";

const statuses = ["proposed", "accepted", "dismissed", "duplicate"] as const;

/** `countersign memory …` */
export function addMemoryVerbs(program: Command): void {
  const memory = program.command("memory").description("What agents propose to remember, for you to accept or dismiss");

  addVerb<{ status: string; limit: number }>(memory, {
    usage: "ls",
    isDefault: true,
    summary: "What is proposed, oldest first",
    options: (command) =>
      command
        .option("--status <status>", statuses.join(", "), "proposed")
        .option("--limit <count>", "how many", wholeNumber(1, 200), 50),
    async run(cli, _args, { status: asked, limit }) {
      const status = statuses.find((one) => one === asked);
      if (status === undefined) {
        throw new CliError("usage", `There is no status ${JSON.stringify(asked)}; there are ${statuses.join(", ")}.`);
      }
      const { proposals } = await ask(cli.client.v1.memory.$get({ query: { status, limit } }));
      if (cli.isJson) return cli.printJson(proposals);
      if (proposals.length === 0) return cli.print([`Nothing is ${status}.`]);
      const { style, size } = cli.terminal;
      const rows = proposals.map((proposal) => [
        { text: shortId(proposal.id), paint: style.cyan },
        { text: makeVisible(proposal.kind), paint: style.dim },
        { text: makeVisible(proposal.text), paint: style.bold },
        { text: relativeTime(proposal.proposedAt), paint: style.dim },
      ]);
      cli.print(layTable(rows, 2, size().columns - 1));
    },
  });

  addVerb(memory, {
    usage: "accept <proposal>",
    summary: "Remember it: it becomes a bullet of its kind's page",
    async run(cli, [given = ""]) {
      const id = await findProposalId(cli.client, given);
      const accepted = await ask(cli.client.v1.memory[":id"].accept.$post({ param: { id } }));
      if (cli.isJson) cli.printJson(accepted);
      else cli.print([`${cli.terminal.style.green("✔")} remembered: ${makeVisible(accepted.text)}`]);
    },
  });

  addVerb(memory, {
    usage: "dismiss <proposal>",
    summary: "Do not remember it, nor anything that says the same",
    async run(cli, [given = ""]) {
      const id = await findProposalId(cli.client, given);
      const dismissed = await ask(cli.client.v1.memory[":id"].dismiss.$post({ param: { id } }));
      if (cli.isJson) cli.printJson(dismissed);
      else cli.print([`${cli.terminal.style.green("✔")} dismissed: ${makeVisible(dismissed.text)}`]);
    },
  });
}

async function findProposalId(client: Client, given: string): Promise<string> {
  return await findListedId("proposal", given, async (query) => {
    const { proposals, nextCursor } = await ask(client.v1.memory.$get({ query }));
    return { ids: proposals.map(({ id }) => id), nextCursor };
  });
}
