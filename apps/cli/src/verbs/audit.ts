import type { Command } from "commander";
import { ask } from "../client.ts";
import { CliError } from "../exit.ts";
import { addVerb } from "../verb.ts";

/** `countersign audit …` */
export function addAuditVerbs(program: Command): void {
  const audit = program
    .command("audit")
    .description("The audit: verify that nothing of it was changed, take it elsewhere");

  addVerb<{ heads?: string }>(audit, {
    usage: "verify",
    summary:
      "Check every row against its chain, and the chains against the signed heads; exit code 1 where they differ",
    options: (command) =>
      command.option("--heads <file>", "heads that were kept elsewhere, besides those of the data folder"),
    run: async (cli, _args, { heads }) => (await import("../local/verify-audit.ts")).verifyAuditHere(cli, heads),
  });

  addVerb(audit, {
    usage: "export",
    summary: "Write the workspace's audit to standard output, a line of JSON for each row",
    async run(cli) {
      const response = await cli.client.v1.audit.export.$get();
      if (!response.ok || response.body === null) {
        await ask(Promise.resolve(response));
        throw new CliError("error", "The server answered without the audit.");
      }
      const decoder = new TextDecoder();
      for await (const chunk of response.body as ReadableStream<Uint8Array>)
        cli.terminal.write(decoder.decode(chunk, { stream: true }));
    },
  });
}
