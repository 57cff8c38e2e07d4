import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { loadOrMakeKey } from "@countersign/broker/keyring.ts";
import { afterAll } from "vitest";
import type { Answer } from "./countersign.ts";
import { startProcess } from "./processes.ts";
import { repositoryRoot } from "./repository.ts";
import { runUnread, runVerb } from "./verb.ts";

/** The command line against a server in a process of its own. */
export interface CommandLine {
  /** A folder of its own, with the server's key; it is removed after the file's last test. */
  readonly data: string;
  readonly address: string;
  /** Runs a verb as the owner of the token. */
  run(token: string, args: readonly string[], input?: string): Promise<Answer>;
  /** The same, where nobody reads what it writes. */
  runUnread(token: string, args: readonly string[]): ReturnType<typeof runUnread>;
}

/** Call it once per file, at the top level; `settings` are for the server. */
export async function givenCommandLine(
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<CommandLine> {
  const data = await mkdtemp(join(repositoryRoot, ".test-data", "command-line-"));
  await loadOrMakeKey(data);
  const server = startProcess(join(repositoryRoot, "apps/server/src/main.ts"), {
    DATABASE_URL: databaseUrl,
    COUNTERSIGN_DATA: data,
    PORT: "0",
    ...settings,
  });
  afterAll(async () => {
    await server.kill();
    await rm(data, { recursive: true, force: true });
  });
  const address = await server.waitFor((line) => (typeof line["url"] === "string" ? line["url"] : undefined));
  const environment = { COUNTERSIGN_URL: address, COUNTERSIGN_DATA: data, DATABASE_URL: databaseUrl };
  return {
    data,
    address,
    run: (token, args, input) => runVerb({ ...environment, COUNTERSIGN_TOKEN: token }, args, input),
    runUnread: (token, args) => runUnread({ ...environment, COUNTERSIGN_TOKEN: token }, args),
  };
}
