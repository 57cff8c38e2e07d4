import type { Command } from "commander";
import type { InferResponseType } from "hono/client";
import { ask, type Client } from "../client.ts";
import { readEveryPage } from "../every-page.ts";
import { CliError } from "../exit.ts";
import { shortId } from "../find-id.ts";
import { findUserId } from "../find-user.ts";
import { layTable } from "../terminal/table.ts";
import { makeVisible } from "../terminal/visible.ts";
import { addVerb, type Cli } from "../verb.ts";
import { oneOf } from "./dial.ts";

const roles = ["viewer", "operator", "approver", "admin"] as const;
type Role = (typeof roles)[number];
type Account = Extract<InferResponseType<Client["v1"]["users"][":id"]["$get"]>, { isService: boolean }>;

interface NewPerson {
  readonly name: string;
  readonly role: Role;
  readonly email?: string;
  readonly service?: boolean;
}

/** `countersign people …` */
export function addPeopleVerbs(program: Command): void {
  const people = program.command("people").description("People of the workspace: who there is, and what each may do");

  addVerb(people, {
    usage: "ls",
    isDefault: true,
    summary: "Who there is; for an administrator with roles, addresses and the accounts of programs",
    async run(cli) {
      const { role } = await ask(cli.client.v1.me.$get());
      if (role === "admin") return showAccounts(cli, await listAccounts(cli.client));
      const found = await readEveryPage(async (query) => {
        const { people: rows, nextCursor } = await ask(cli.client.v1.people.$get({ query }));
        return { rows, nextCursor };
      });
      if (cli.isJson) return cli.printJson(found);
      cli.print(found.map(({ id, name }) => `${makeVisible(name)}  ${cli.terminal.style.dim(shortId(id))}`));
    },
  });

  addVerb<NewPerson>(people, {
    usage: "add",
    summary: "Make an account for a person or a program; a login link or a token of theirs comes after",
    options: (command) =>
      command
        .requiredOption("--name <name>", "what they are called here; no other account has the name")
        .requiredOption("--role <role>", roles.join(", "), oneOf(roles))
        .option("--email <address>", "by which an identity provider finds the account")
        .option("--service", "it is a program's: it signs in with tokens alone"),
    async run(cli, _args, { name, role, email, service: isService = false }) {
      const json = { name, role, isService, ...(email === undefined ? {} : { email }) };
      const made = await ask(cli.client.v1.users.$post({ header: {}, json }));
      if (cli.isJson) return cli.printJson(made);
      cli.print([
        `${cli.terminal.style.green("✔")} ${makeVisible(made.name)} is ${made.role}.`,
        cli.terminal.style.dim(
          `A token of theirs: ./countersign tokens create <label> --user ${JSON.stringify(made.name)}`,
        ),
      ]);
    },
  });

  addVerb(people, {
    usage: "role <person> <role>",
    summary: `Change what somebody may do, from their next request on: ${roles.join(", ")}`,
    async run(cli, [given = "", asked = ""]) {
      const role = roles.find((one) => one === asked);
      if (role === undefined)
        throw new CliError("usage", `There is no role ${JSON.stringify(asked)}; there are ${roles.join(", ")}.`);
      const id = await findUserId(cli.client, given);
      const changed = await ask(cli.client.v1.users[":id"].$patch({ param: { id }, json: { role } }));
      if (cli.isJson) return cli.printJson(changed);
      cli.print([`${cli.terminal.style.green("✔")} ${makeVisible(changed.name)} is ${changed.role}.`]);
    },
  });
}

async function listAccounts(client: Client): Promise<Account[]> {
  return await readEveryPage(async (query) => {
    const { users, nextCursor } = await ask(client.v1.users.$get({ query }));
    return { rows: users, nextCursor };
  });
}

function showAccounts(cli: Cli, accounts: readonly Account[]): void {
  if (cli.isJson) return cli.printJson(accounts);
  const { style, size } = cli.terminal;
  const rows = accounts.map(({ id, name, role, isService, email, disabledAt }) => [
    { text: makeVisible(name), paint: style.bold },
    { text: `${role}${isService ? ", a program" : ""}${disabledAt === null ? "" : ", disabled"}` },
    { text: makeVisible(email ?? ""), paint: style.dim },
    { text: shortId(id), paint: style.dim },
  ]);
  cli.print(layTable(rows, 0, size().columns));
}
