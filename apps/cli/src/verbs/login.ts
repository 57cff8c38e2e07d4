import type { Command } from "commander";
import { ask } from "../client.ts";
import { addVerb } from "../verb.ts";

/** `countersign login` */
export function addLoginVerb(program: Command): void {
  addVerb(program, {
    usage: "login",
    summary: "Print a link that signs you in with a browser, once, within 15 minutes",
    async run(cli) {
      const link = await ask(cli.client.v1["login-links"].$post({ header: {}, json: {} }));
      const url = link.url ?? new URL(link.path ?? "/login", cli.client.v1.runs.$url()).href;
      if (cli.isJson) cli.printJson({ url, expiresAt: link.expiresAt });
      else cli.print([url]);
    },
  });
}
