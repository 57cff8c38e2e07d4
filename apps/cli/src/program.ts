import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command, Help } from "commander";
import { repositoryRoot } from "./config.ts";
import { CliError } from "./exit.ts";
import type { InitOptions } from "./local/init.ts";
import { addVerb } from "./verb.ts";
import { addAuditVerbs } from "./verbs/audit.ts";
import { addCompletionVerb } from "./verbs/completion.ts";
import { addDefinitionVerbs } from "./verbs/definitions.ts";
import { addExplainVerbs } from "./verbs/explain.ts";
import { addLoginVerb } from "./verbs/login.ts";
import { addFileVerbs } from "./verbs/files.ts";
import { addKnowledgeVerbs } from "./verbs/kb.ts";
import { addMemoryVerbs } from "./verbs/memory.ts";
import { addOpenApiVerb } from "./verbs/openapi.ts";
import { addPeopleVerbs } from "./verbs/people.ts";
import { addSwitchVerbs } from "./verbs/policy.ts";
import { addRuleVerbs } from "./verbs/rules.ts";
import { addReminderVerbs } from "./verbs/reminders.ts";
import { addRunVerbs } from "./verbs/runs.ts";
import { addSecretVerbs } from "./verbs/secrets.ts";
import { addTaskVerbs } from "./verbs/tasks.ts";
import { addToolVerbs } from "./verbs/tools.ts";
import { addTokenVerbs } from "./verbs/tokens.ts";

/** Every verb of the command line. */
export function createProgram(): Command {
  const manifest = JSON.parse(readFileSync(join(repositoryRoot, "package.json"), "utf8")) as { version: string };
  const program = new Command("countersign")
    .description("Agents as durable workflows in Postgres, whose consequential acts wait for a countersignature.")
    .version(manifest.version)
    .showHelpAfterError("See what there is with --help.")
    .enablePositionalOptions()
    .configureHelp({
      optionDescription: (option) => new Help().optionDescription(option) + (option.mandatory ? " (required)" : ""),
    })
    .addHelpText("after", help)
    .exitOverride();

  // Loaded when they are needed: they bring the database along, which the other verbs reach through the server.
  addVerb(program, {
    usage: "dev",
    summary: "Everything on this machine: PostgreSQL, server, worker, mail, and a demo",
    run: async (cli) => (await import("./local/dev.ts")).dev(cli),
  });
  addProgramVerb(program, "serve", "Serve the HTTP interface; configured by the environment");
  addProgramVerb(program, "worker", "Drive runs; configured by the environment");
  addVerb(program, {
    usage: "migrate",
    summary: "Bring the database of DATABASE_URL to this version",
    run: async (cli) => (await import("./local/migrate.ts")).runMigrations(cli),
  });
  addVerb<InitOptions>(program, {
    usage: "init",
    summary: "Make a workspace, its administrator and a token in the database of DATABASE_URL",
    options: (command) =>
      command
        .requiredOption("--workspace <name>", "what the workspace is called; no other may have the name")
        .requiredOption("--admin <name>", "the name of its administrator")
        .option("--email <address>", "by which an identity provider finds the administrator"),
    run: async (cli, _args, options) => (await import("./local/init.ts")).initWorkspace(cli, options),
  });
  addRunVerbs(program);
  addTaskVerbs(program);
  addReminderVerbs(program);
  addMemoryVerbs(program);
  addFileVerbs(program);
  addKnowledgeVerbs(program);
  addSwitchVerbs(program);
  addRuleVerbs(program);
  addExplainVerbs(program);
  addToolVerbs(program);
  addDefinitionVerbs(program);
  addSecretVerbs(program);
  addPeopleVerbs(program);
  addTokenVerbs(program);
  addLoginVerb(program);
  addAuditVerbs(program);
  addVerb(program, {
    usage: "doctor",
    summary: "Check environment, database, keys and server of this machine, and say what to do",
    run: async (cli) => (await import("./local/doctor.ts")).examine(cli),
  });
  addOpenApiVerb(program);
  addCompletionVerb(program);
  return program;
}

/** A program of its own that the launcher turns into before it comes to the verbs. */
function addProgramVerb(program: Command, name: string, summary: string): void {
  addVerb(program, {
    usage: name,
    summary,
    isBare: true,
    options: (command) => command.allowUnknownOption().allowExcessArguments(),
    run() {
      throw new CliError(
        "usage",
        `${name} takes no options: ./countersign ${name}. It is configured by the environment.`,
      );
    },
  });
}

const help = `
The server is the one of COUNTERSIGN_URL and COUNTERSIGN_TOKEN, else the one that dev started here.
An id may be given whole or by its last digits.
Exit codes: 0 ok, 1 error, 2 usage, 3 denied, 4 conflict, 5 timeout.`;
