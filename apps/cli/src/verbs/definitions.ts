import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { InferResponseType } from "hono/client";
import { ask, type Client } from "../client.ts";
import { CliError } from "../exit.ts";
import { missingToolsAdvice, readDefinitions } from "../read-definitions.ts";
import { layTable } from "../terminal/table.ts";
import { relativeTime } from "../terminal/time.ts";
import { inertJson, makeVisible } from "../terminal/visible.ts";
import { addVerb, type Cli } from "../verb.ts";
import { confirmChange } from "./confirm-change.ts";

interface ApplyOptions {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

type Spec = Record<string, unknown>;

/** What applying a definition comes to, as the server says it. */
type Applied = Extract<InferResponseType<Client["v1"]["definitions"]["$post"]>, { outcome: string }>;

/** `countersign defs …` */
export function addDefinitionVerbs(program: Command): void {
  const definitions = program.command("defs").description("Definitions: what agents are, version by version");

  addVerb(definitions, {
    usage: "ls",
    isDefault: true,
    summary: "The definitions in their current version",
    async run(cli) {
      const found = await readDefinitions(cli.client);
      if (cli.isJson) return cli.printJson(found);
      const { style, size } = cli.terminal;
      const rows = found.map(({ name, version, createdAt, spec }) => [
        { text: makeVisible(name), paint: style.cyan },
        { text: makeVisible(typeof spec["description"] === "string" ? spec["description"] : "") },
        { text: `version ${version}`, paint: style.dim },
        { text: relativeTime(createdAt), paint: style.dim },
      ]);
      cli.print(layTable(rows, 1, size().columns));
      const lacking = found.filter(({ missingTools }) => missingTools.length > 0);
      cli.print(lacking.map(({ name, missingTools }) => style.yellow(`! ${makeVisible(lackOf(name, missingTools))}`)));
      if (lacking.length > 0) cli.print([missingToolsAdvice]);
    },
  });

  addVerb(definitions, {
    usage: "show <name>",
    summary: "A definition in its current version, as JSON that apply takes",
    async run(cli, [name = ""]) {
      const [found] = (await ask(cli.client.v1.definitions.$get({ query: { name } }))).definitions;
      if (found === undefined) {
        const named = JSON.stringify(name);
        throw new CliError("error", `There is no definition ${named}. ./countersign defs ls lists them.`);
      }
      if (cli.isJson) cli.printJson(found.spec);
      else cli.terminal.write(`${inertJson(found.spec, 2)}\n`);
    },
  });

  addVerb<ApplyOptions>(definitions, {
    usage: "apply <files...>",
    summary: "Show what these JSON files would change, then make it so; asks first, or takes --yes",
    options: (command) =>
      command.option("--yes", "do not ask").option("--dry-run", "only show the difference; change nothing"),
    async run(cli, files, options) {
      for (const spec of files.flatMap(readSpecs)) await applySpec(cli, spec, options);
    },
  });
}

function readSpecs(file: string): Spec[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CliError("usage", `${file} cannot be read as JSON: ${why}`);
  }
  const specs = Array.isArray(parsed) ? parsed : [parsed];
  for (const spec of specs) {
    const isListed = typeof spec === "object" && spec !== null && "spec" in spec;
    if (!isListed && typeof spec === "object" && spec !== null && "name" in spec && typeof spec.name === "string")
      continue;
    if (isListed) {
      throw new CliError(
        "usage",
        `${file} holds a definition as lists have it; apply takes what is under "spec" alone, as ./countersign defs show <name> writes it.`,
      );
    }
    throw new CliError("usage", `${file} should hold a definition, or a list of them, each an object with a name.`);
  }
  return specs as Spec[];
}

/** That a definition cannot work as it says. */
function lackOf(name: string, missingTools: readonly string[]): string {
  return `${name} names tools that the server does not have: ${missingTools.join(", ")}`;
}

/** What is shown is what is applied: a version that somebody made meanwhile is a conflict. */
async function applySpec(cli: Cli, spec: Spec, { yes, dryRun }: ApplyOptions): Promise<void> {
  const { definitions } = cli.client.v1;
  const found = await ask(definitions.$get({ query: { name: String(spec["name"]) } }));
  const [current] = found.definitions;
  const send = async (isDryRun: boolean): Promise<Applied> => {
    const common = { query: { dryRun: isDryRun ? "true" : "false" }, json: { spec } } as const;
    if (current === undefined) return await ask(definitions.$post({ ...common, header: {} }));
    const header = { "if-match": `"${current.version}"` };
    return await ask(definitions[":id"].versions.$post({ ...common, param: { id: current.id }, header }));
  };

  const planned = await send(true);
  const isChange = planned.outcome !== "unchanged";
  if (!cli.isJson) cli.print(showDifference(planned, cli));
  if (dryRun === true || !isChange) {
    if (cli.isJson) cli.printJson(planned);
    return;
  }
  await confirmChange(cli, yes, `${makeVisible(planned.name)} stays as it is`);
  const applied = await send(false);
  if (cli.isJson) cli.printJson(applied);
  else cli.print([`${cli.terminal.style.green("✔")} ${makeVisible(applied.name)} is in version ${applied.version}.`]);
}

function showDifference(
  { name, version, outcome, changes, capabilities, warnings }: Applied,
  { terminal }: Cli,
): string[] {
  const { style } = terminal;
  const title = { created: "is new", changed: `would be version ${version}`, unchanged: "is unchanged" }[outcome];
  return [
    `${style.bold(makeVisible(name))} ${title}`,
    ...changes.flatMap(({ path, before, after }) => [
      ...(before === undefined ? [] : [style.red(`  - ${makeVisible(path)}: ${makeVisible(JSON.stringify(before))}`)]),
      ...(after === undefined ? [] : [style.green(`  + ${makeVisible(path)}: ${makeVisible(JSON.stringify(after))}`)]),
    ]),
    ...capabilities.gained.map((capability) =>
      style.bold(`  ! its runs may reach ${makeVisible(capability)} from now on`),
    ),
    ...capabilities.lost.map((capability) => `  its runs may not reach ${makeVisible(capability)} any more`),
    ...warnings.map((warning) => style.yellow(`  ! ${makeVisible(warning)}`)),
  ];
}
