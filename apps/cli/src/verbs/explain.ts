import type { Command } from "commander";
import type { InferResponseType } from "hono/client";
import { ask, type Client } from "../client.ts";
import { CliError } from "../exit.ts";
import { shortId } from "../find-id.ts";
import { askOfFile, readPolicyFile } from "../policy-file.ts";
import { type ScopeOptions, scopeOf, withScope } from "../scope.ts";
import { layTable } from "../terminal/table.ts";
import { makeVisible } from "../terminal/visible.ts";
import { addVerb, type Cli, wholeNumber } from "../verb.ts";

type Explanation = Extract<InferResponseType<Client["v1"]["explain"]["$post"]>, { rows: unknown }>;
type Simulation = Extract<InferResponseType<Client["v1"]["simulate"]["$post"]>, { judged: number }>;

/** `countersign explain` and `countersign simulate`. */
export function addExplainVerbs(program: Command): void {
  addVerb<ScopeOptions & { readonly tool?: string; readonly args: string }>(program, {
    usage: "explain [call]",
    summary: "Why the gate decides as it does on a recorded call, or on one that you make up; nothing is run",
    options: (command) =>
      withScope(command, {
        run: "as one of this run",
        definition: "as one of a new run of this definition",
        workspace: "as the workspace's policy has it; unless said otherwise",
        all: "as the installation's policy alone has it",
      })
        .option("--tool <name>", "a call of this tool, which need not have been made")
        .option("--args <json>", "with these arguments; ./countersign tools show <name> says which it takes", "{}"),
    async run(cli, [call], { tool, args, ...options }) {
      if ((call === undefined) === (tool === undefined))
        throw new CliError("usage", "Which call? Give the id of one, or --tool <name> with --args <json>.");
      if (tool !== undefined) requireJson(args);
      const json =
        call === undefined
          ? { ...(await scopeOf(cli.client, options, { scope: "workspace" })), tool: tool ?? "", args }
          : { call };
      const explained = await ask(cli.client.v1.explain.$post({ json }));
      if (cli.isJson) cli.printJson(explained);
      else cli.print(showExplanation(explained, cli));
    },
  });

  addVerb<ScopeOptions & { readonly days: number }>(program, {
    usage: "simulate <file>",
    summary: "What the calls of the last days would have come to if a scope had said what this policy file says",
    options: (command) => withScope(command).option("--days <count>", "how far back", wholeNumber(1, 90), 7),
    async run(cli, [file = ""], { days, ...options }) {
      const document = readPolicyFile(file);
      const scope = await scopeOf(cli.client, options, { scope: "workspace" });
      const simulated = await askOfFile(file, cli.client.v1.simulate.$post({ json: { ...scope, days, document } }));
      if (cli.isJson) cli.printJson(simulated);
      else cli.print(showSimulation(simulated, cli));
    },
  });
}

function requireJson(args: string): void {
  try {
    JSON.parse(args);
  } catch (error) {
    throw new CliError("usage", `--args is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function showExplanation({ tool, recorded, now, rows }: Explanation, { terminal: { style, size } }: Cli): string[] {
  const matching = rows.filter(({ said }) => said !== null);
  return [
    `${style.bold(makeVisible(tool))}: ${style.bold(now.verdict)} by row ${now.row}, ${makeVisible(now.reason)}`,
    ...(now.detail === undefined ? [] : [`  ${makeVisible(now.detail)}`]),
    ...(now.verdict === "invalid"
      ? [style.dim(`  ./countersign tools show ${makeVisible(tool)} says what it takes.`)]
      : []),
    ...(recorded === null
      ? []
      : [style.dim(`recorded: ${recorded.verdict} by row ${recorded.row}, ${makeVisible(recorded.reason)}`)]),
    "",
    ...layTable(
      matching.map(({ row, said, isFirst }) => [
        { text: isFirst ? "▸" : " ", paint: style.green },
        { text: row },
        { text: said?.verdict ?? "" },
        { text: makeVisible(said?.reason ?? ""), paint: style.dim },
      ]),
      3,
      size().columns,
    ),
    style.dim(`${rows.length - matching.length} further rows do not match.`),
  ];
}

function showSimulation(simulated: Simulation, { terminal: { style, size } }: Cli): string[] {
  const { judged, isTruncated, before, after, changes, changeCount } = simulated;
  const kinds = ["allow", "ask", "pick", "deny", "invalid"] as const;
  const counts = kinds
    .filter((kind) => before[kind] + after[kind] > 0)
    .map((kind) => `${kind} ${before[kind]} → ${after[kind]}`);
  return [
    style.bold(`${judged} calls${isTruncated ? ", the newest of more" : ""}: ${counts.join(", ") || "none"}`),
    ...layTable(
      changes.map((change) => [
        { text: shortId(change.callId), paint: style.cyan },
        { text: makeVisible(change.tool) },
        { text: `${change.before.verdict} → ${change.after.verdict}` },
        { text: makeVisible(change.after.reason), paint: style.dim },
      ]),
      3,
      size().columns,
    ),
    ...(changeCount > changes.length ? [style.dim(`and ${changeCount - changes.length} more`)] : []),
  ];
}
