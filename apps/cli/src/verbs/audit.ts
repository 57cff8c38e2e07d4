import type { Command } from "commander";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as WebStream } from "node:stream/web";
import { ask, noAnswer } from "../client.ts";
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
      const response = await cli.client.v1.audit.export.$get().catch((error: unknown) => {
        throw noAnswer(error);
      });
      if (!response.ok || response.body === null) {
        await ask(Promise.resolve(response));
        throw new CliError("error", "The server answered without the audit.");
      }
      try {
        await pipeline(Readable.fromWeb(response.body as WebStream<Uint8Array>), process.stdout, { end: false });
      } catch (error) {
        if (cli.terminal.gone.aborted) return;
        throw new CliError("error", "The audit did not arrive whole; what was written of it ends early.", { error });
      }
    },
  });
}
