import type { Command } from "commander";
import { ask } from "../client.ts";
import { inertJson } from "../terminal/visible.ts";
import { addVerb } from "../verb.ts";

/** `countersign openapi` */
export function addOpenApiVerb(program: Command): void {
  addVerb(program, {
    usage: "openapi",
    summary: "The server's HTTP interface as OpenAPI 3.1",
    async run(cli) {
      const url = new URL("/openapi.json", cli.client.v1.runs.$url());
      const described: unknown = await ask(fetch(url));
      if (cli.isJson) cli.printJson(described);
      else cli.terminal.write(`${inertJson(described, 2)}\n`);
    },
  });
}
