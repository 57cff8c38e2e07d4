import type { Command } from "commander";
import { ask, type Client } from "../client.ts";
import { readEveryPage } from "../every-page.ts";
import { CliError } from "../exit.ts";
import { layTable } from "../terminal/table.ts";
import { relativeTime } from "../terminal/time.ts";
import { makeVisible } from "../terminal/visible.ts";
import { addVerb, type Cli } from "../verb.ts";
import { readAll } from "./read-all.ts";

/** `countersign secrets …` */
export function addSecretVerbs(program: Command): void {
  const secrets = program
    .command("secrets")
    .description("Secrets: set, list, delete, and rotate the key they lie under");

  addVerb(secrets, {
    usage: "ls",
    isDefault: true,
    summary: "What is stored, by name; values are shown nowhere",
    async run(cli) {
      const found = await listSecrets(cli.client);
      if (cli.isJson) return cli.printJson(found);
      if (found.length === 0)
        return cli.print(["No secret is set. Set one with: ./countersign secrets set <capability> < file"]);
      const { style, size } = cli.terminal;
      const rows = found.map((secret) => [
        { text: makeVisible(secret.name), paint: style.cyan },
        { text: makeVisible(secret.capability) },
        { text: `version ${secret.version}`, paint: style.dim },
        { text: `set ${relativeTime(secret.setAt)}`, paint: style.dim },
      ]);
      cli.print(layTable(rows, 1, size().columns));
    },
  });

  addVerb<{ name?: string }>(secrets, {
    usage: "set <capability>",
    summary: "Set the secret of a capability, or its next version; the value is read from standard input",
    options: (command) =>
      command.option("--name <name>", "its name; else that of the secret it replaces, or the capability's"),
    async run(cli, [capability = ""], options) {
      const value = await readValue(cli, capability);
      const name = options.name ?? (await findName(cli.client, capability)) ?? capability;
      const stored = await ask(cli.client.v1.secrets[":name"].$put({ param: { name }, json: { capability, value } }));
      if (cli.isJson) return cli.printJson(stored);
      cli.print([
        `${cli.terminal.style.green("✔")} ${makeVisible(stored.name)} is set in version ${stored.version}; the next use of ${makeVisible(stored.capability)} takes it.`,
      ]);
    },
  });

  addVerb(secrets, {
    usage: "rm <name>",
    summary: "Delete a secret: what uses it fails at its next use",
    async run(cli, [name = ""]) {
      const gone = await ask(cli.client.v1.secrets[":name"].$delete({ param: { name } }));
      if (cli.isJson) cli.printJson(gone);
      else cli.print([`${cli.terminal.style.green("✔")} ${makeVisible(name)} is deleted.`]);
    },
  });

  addVerb(secrets, {
    usage: "rotate",
    summary: "Make a new master key in the worker's data folder, seal every secret to it, and retire the old one",
    run: async (cli) => (await import("../local/rotate-master-key.ts")).rotateMasterKey(cli),
  });
}

async function listSecrets(client: Client) {
  return await readEveryPage(async (query) => {
    const { secrets, nextCursor } = await ask(client.v1.secrets.$get({ query }));
    return { rows: secrets, nextCursor };
  });
}

async function findName(client: Client, capability: string): Promise<string | undefined> {
  return (await listSecrets(client)).find((secret) => secret.capability === capability)?.name;
}

/** An argument would stand in the shell's history and in the list of processes. */
async function readValue({ terminal }: Cli, capability: string): Promise<string> {
  if (terminal.isInteractive) {
    throw new CliError(
      "usage",
      `The value is read from standard input, so that it is on no screen and in no history: ./countersign secrets set ${capability} < file`,
    );
  }
  const value = (await readAll(process.stdin)).replace(/\r?\n$/, "");
  if (value === "") throw new CliError("usage", "Standard input is empty; nothing was stored.");
  return value;
}
