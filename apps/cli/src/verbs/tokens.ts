import type { Command } from "commander";
import { ask, type Client } from "../client.ts";
import { readEveryPage } from "../every-page.ts";
import { CliError } from "../exit.ts";
import { shortId } from "../find-id.ts";
import { findUserId } from "../find-user.ts";
import { layTable } from "../terminal/table.ts";
import { relativeTime } from "../terminal/time.ts";
import { makeVisible } from "../terminal/visible.ts";
import { addVerb, wholeNumber } from "../verb.ts";

interface NewTokenOptions {
  readonly user?: string;
  readonly mayDecide?: boolean;
  readonly days?: number;
}

const dayMs = 86_400_000;

/** `countersign tokens …` */
export function addTokenVerbs(program: Command): void {
  const tokens = program.command("tokens").description("Tokens that people and programs authenticate with");

  addVerb(tokens, {
    usage: "ls",
    isDefault: true,
    summary: "Your tokens, or as an administrator everybody's; never their values",
    async run(cli) {
      const found = await listTokens(cli.client);
      if (cli.isJson) return cli.printJson(found);
      const { style, size } = cli.terminal;
      const rows = found.map((token) => [
        { text: shortId(token.id), paint: style.cyan },
        { text: makeVisible(token.label) },
        { text: makeVisible(token.user.name) },
        { text: standingOf(token), paint: style.dim },
        { text: token.lastUsedAt === null ? "never used" : `used ${relativeTime(token.lastUsedAt)}`, paint: style.dim },
      ]);
      cli.print(layTable(rows, 1, size().columns));
    },
  });

  addVerb<NewTokenOptions>(tokens, {
    usage: "create <label>",
    summary: "Make a token; its value is shown this once",
    options: (command) =>
      command
        .option("--user <name>", "whose it is; yours unless said")
        .option("--may-decide", "it may decide approvals, where the role may")
        .option("--days <count>", "refused after so many days", wholeNumber(1, 3_650)),
    async run(cli, [label = ""], { user, mayDecide = false, days }) {
      const userId = await findUserId(cli.client, user);
      const expiresAt = days === undefined ? {} : { expiresAt: new Date(Date.now() + days * dayMs).toISOString() };
      const made = await ask(
        cli.client.v1.tokens.$post({ header: {}, json: { userId, label, mayDecide, ...expiresAt } }),
      );
      if (cli.isJson) return cli.printJson(made);
      cli.print([
        made.token ?? "",
        cli.terminal.style.dim("It is shown this once; keep it where only its user can read it."),
      ]);
    },
  });

  addVerb(tokens, {
    usage: "revoke <token>",
    summary: "Revoke a token: it is refused from then on",
    async run(cli, [given = ""]) {
      const matches = (await listTokens(cli.client)).filter(({ id }) => id.endsWith(given.toLowerCase()));
      const [found, another] = given.length < 4 ? [] : matches;
      if (found === undefined || another !== undefined) {
        throw new CliError(
          "usage",
          `${matches.length === 0 ? "No token has" : "Give more of"} the id ${JSON.stringify(given)}; see ./countersign tokens ls --json.`,
        );
      }
      const revoked = await ask(cli.client.v1.tokens[":id"].$delete({ param: { id: found.id } }));
      if (cli.isJson) cli.printJson(revoked);
      else cli.print([`${cli.terminal.style.green("✔")} ${makeVisible(revoked.label)} is revoked.`]);
    },
  });
}

async function listTokens(client: Client) {
  return await readEveryPage(async (query) => {
    const { tokens, nextCursor } = await ask(client.v1.tokens.$get({ query }));
    return { rows: tokens, nextCursor };
  });
}

function standingOf({
  revokedAt,
  expiresAt,
}: {
  readonly revokedAt: string | null;
  readonly expiresAt: string | null;
}) {
  if (revokedAt !== null) return `revoked ${relativeTime(revokedAt)}`;
  if (expiresAt === null) return "does not expire";
  return new Date(expiresAt).getTime() < Date.now() ? "expired" : `expires ${relativeTime(expiresAt)}`;
}
