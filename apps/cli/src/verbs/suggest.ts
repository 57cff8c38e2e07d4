import type { Command } from "commander";
import type { InferResponseType } from "hono/client";
import { ask, type Client } from "../client.ts";
import { shortId } from "../find-id.ts";
import { type ScopeOptions, scopeOf, withScope } from "../scope.ts";
import { countOf } from "../show/count.ts";
import { quoted } from "../show/quoted.ts";
import { targetText } from "../show/rules.ts";
import { addVerb, type Cli, wholeNumber } from "../verb.ts";

type Suggestions = Extract<InferResponseType<Client["v1"]["suggestions"]["$get"]>, { suggestions: unknown }>;
type Suggestion = Suggestions["suggestions"][number];

interface SuggestOptions extends ScopeOptions {
  readonly days: number;
  readonly least: number;
}

/** `countersign rules suggest` */
export function addSuggestVerb(rules: Command): void {
  addVerb<SuggestOptions>(rules, {
    usage: "suggest",
    summary: "Rules that would have saved prompts of the last days, and would have let run nothing that was denied",
    options: (command) =>
      withScope(command)
        .option("--days <count>", "how far back", wholeNumber(1, 90), 7)
        .option("--least <count>", "how often something must have been approved", wholeNumber(2, 1_000), 3),
    async run(cli, _args, { days, least, ...options }) {
      const { scope, id } = await scopeOf(cli.client, options, { scope: "workspace" });
      const query = { scope, days, least, ...(id === undefined ? {} : { id }) };
      const found = await ask(cli.client.v1.suggestions.$get({ query }));
      if (cli.isJson) cli.printJson(found);
      else cli.print(showSuggestions(found, options, cli));
    },
  });
}

function showSuggestions(
  { decided, suggestions }: Suggestions,
  options: ScopeOptions,
  { terminal: { style } }: Pick<Cli, "terminal">,
): string[] {
  if (suggestions.length === 0) return [`Nothing to suggest: people decided ${countOf(decided, "call")} in this time.`];
  return suggestions.flatMap(({ rule, saved, freed, examples }) => [
    style.bold(countOf(saved, "fewer prompt")) + style.dim(`, ${countOf(freed, "call")} would have run unasked`),
    `  ${commandOf(rule, options)}`,
    ...examples.map(({ callId, decision, verdict }) =>
      style.dim(`  ${shortId(callId)} ${decision === "approve" ? "approved" : "denied"} → ${verdict}`),
    ),
  ]);
}

/** What sets the rule, to be pasted into a shell. */
function commandOf({ target, mode, entries }: Suggestion["rule"], { run, definition }: ScopeOptions): string {
  const units = (entries ?? []).flatMap((entry) => (entry.kind === "unit" ? ["--unit", quoted(entry.unit)] : []));
  const where = [
    ...(run === undefined ? [] : ["--run", quoted(run)]),
    ...(definition === undefined ? [] : ["--definition", quoted(definition)]),
  ];
  return ["./countersign rules set", quoted(targetText(target)), mode, ...units, ...where].join(" ");
}
