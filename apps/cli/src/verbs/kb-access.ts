import type { Command } from "commander";
import { ask, type Client } from "../client.ts";
import { CliError } from "../exit.ts";
import { findPageId } from "../find-page.ts";
import { findUserId } from "../find-user.ts";
import { layTable } from "../terminal/table.ts";
import { relativeTime } from "../terminal/time.ts";
import { makeVisible } from "../terminal/visible.ts";
import { addVerb, type Cli } from "../verb.ts";

interface PlaceOptions {
  readonly dir?: string;
  readonly page?: string;
  readonly user?: string;
}

/** Where a rule holds, and for whom; no user is everybody. */
interface Place {
  readonly dir?: string;
  readonly pageId?: string;
  readonly userId?: string;
}

const levels = ["none", "read", "write"] as const;

/** `countersign kb access …`: who may read and change which directories and pages; for administrators. */
export function addAccessVerbs(kb: Command): void {
  const access = kb.command("access").description("Who may read and change which directories and pages");

  addVerb<PlaceOptions>(access, {
    usage: "show",
    summary: "The rules, or those of a directory, a page or a person; what no rule names is open to all",
    options: withPlace,
    async run(cli, _args, options) {
      const place = await readPlace(cli.client, options);
      const rules = (await listRules(cli.client, place.dir)).filter(
        (rule) =>
          (place.pageId === undefined || rule.pageId === place.pageId) &&
          (place.userId === undefined || rule.user?.id === place.userId),
      );
      if (cli.isJson) return cli.printJson(rules);
      if (rules.length === 0) return cli.print(["There is no such rule: what no rule names is open to all."]);
      const { style, size } = cli.terminal;
      const rows = rules.map((rule) => [
        { text: nameLevel(rule.level), paint: rule.level === "none" ? style.red : style.green },
        { text: makeVisible(rule.user?.name ?? "everybody"), paint: style.bold },
        { text: nameRulePlace(rule) },
        { text: `${makeVisible(rule.createdBy.name)}, ${relativeTime(rule.createdAt)}`, paint: style.dim },
      ]);
      cli.print(layTable(rows, 2, size().columns));
    },
  });

  addVerb<PlaceOptions>(access, {
    usage: "give <level>",
    summary:
      "Set what somebody, or everybody, may do there: none, read (and not change) or write; in place of the rule there was",
    options: withPlace,
    async run(cli, [given = ""], options) {
      const level = levels.find((one) => one === given);
      if (level === undefined) {
        throw new CliError("usage", `${JSON.stringify(given)} is no level; there are ${levels.join(", ")}.`);
      }
      const place = requirePlace(await readPlace(cli.client, options));
      const rule = await ask(cli.client.v1["access-rules"].$put({ json: { ...place, level } }));
      if (cli.isJson) return cli.printJson(rule);
      if (rule.user !== null) return tellDone(cli, `${sayOf(makeVisible(rule.user.name), rule)}.`);
      const others = (await listRules(cli.client, place.dir)).flatMap(({ dir, pageId, user, level: theirs }) =>
        user !== null && dir === rule.dir && pageId === rule.pageId && levels.indexOf(theirs) > levels.indexOf(level)
          ? [makeVisible(user.name)]
          : [],
      );
      tellDone(cli, `${sayOf(undefined, rule)}${others.length === 0 ? "" : `, but for ${others.join(", ")}`}.`);
    },
  });

  addVerb<PlaceOptions>(access, {
    usage: "take",
    summary: "Take away the rule for somebody, or for everybody, in a place; what is set above it counts again",
    options: withPlace,
    async run(cli, _args, options) {
      const place = requirePlace(await readPlace(cli.client, options));
      const found = (await listRules(cli.client, place.dir)).find(
        (rule) =>
          (place.dir !== undefined || rule.dir === null) &&
          rule.pageId === (place.pageId ?? null) &&
          (rule.user?.id ?? null) === (place.userId ?? null),
      );
      if (found === undefined) {
        const who = place.userId === undefined ? "for everybody" : "for that person";
        throw new CliError("error", `There is no rule ${who} there. ./countersign kb access show lists them.`);
      }
      const removed = await ask(cli.client.v1["access-rules"][":id"].$delete({ param: { id: found.id } }));
      if (cli.isJson) return cli.printJson(removed);
      tellDone(cli, `The rule for ${makeVisible(found.user?.name ?? "everybody")} in ${nameRulePlace(found)} is gone.`);
    },
  });
}

function withPlace(command: Command): Command {
  return command
    .option("--dir <directory>", "a directory and all below it; / for everything")
    .option("--page <page>", "one page, by its title, alias or id")
    .option("--user <name>", "a person or service; everybody unless said");
}

async function readPlace(client: Client, { dir, page, user }: PlaceOptions): Promise<Place> {
  if (dir !== undefined && page !== undefined) {
    throw new CliError("usage", "A rule is of a directory or of a page: give one of --dir and --page.");
  }
  return {
    ...(dir === undefined ? {} : { dir: dir.split("/").filter(Boolean).join("/") }),
    ...(page === undefined ? {} : { pageId: await findPageId(client, page) }),
    ...(user === undefined ? {} : { userId: await findUserId(client, user) }),
  };
}

function requirePlace(place: Place): Place {
  if (place.dir !== undefined || place.pageId !== undefined) return place;
  throw new CliError("usage", "Where? Give --dir <directory>, / for everything, or --page <page>.");
}

/** All rules, or those of a directory: which spellings of its name are one the server knows. */
async function listRules(client: Client, dir: string | undefined) {
  return (await ask(client.v1["access-rules"].$get({ query: dir === undefined ? {} : { dir } }))).rules;
}

function nameLevel(level: string): string {
  return level === "none" ? "may not read" : level === "read" ? "may only read" : "may read and change";
}

/** What somebody, or everybody, may do from now on, and what not. */
function sayOf(name: string | undefined, rule: Parameters<typeof nameRulePlace>[0] & { level: string }): string {
  const place = nameRulePlace(rule);
  if (rule.level === "none") return `${name === undefined ? "Nobody may" : `${name} may not`} read ${place}`;
  if (rule.level === "write") return `${name ?? "Everybody"} may read and change ${place}`;
  return name === undefined
    ? `Everybody may read, and nobody may change, ${place}`
    : `${name} may read, and may not change, ${place}`;
}

function nameRulePlace({
  dir,
  pageId,
  pageTitle,
}: {
  dir: string | null;
  pageId: string | null;
  pageTitle: string | null;
}) {
  if (dir !== null) return dir === "" ? "everything" : `${makeVisible(dir)} and all below it`;
  return pageTitle === null ? `page ${pageId}` : `page ${makeVisible(JSON.stringify(pageTitle))}`;
}

function tellDone(cli: Cli, line: string): void {
  cli.print([`${cli.terminal.style.green("✔")} ${line}`]);
}
