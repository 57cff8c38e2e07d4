import { resolve } from "node:path";
import { chooseDataDir } from "./local/data-dir.ts";

/** What the command line takes from its environment; every program it starts reads its own part of it. */
export interface CliConfig {
  /** Where the server is, and who asks; both undefined where the data folder is to say so. */
  readonly url: string | undefined;
  readonly token: string | undefined;
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  readonly databaseDirectUrl: string | undefined;
  /** Of the server that `dev` starts or `init` speaks of. */
  readonly port: string | undefined;
  readonly publicUrl: string | undefined;
  readonly isColorUnwanted: boolean;
  /** Passed on to the programs that `dev` starts. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export const repositoryRoot = resolve(import.meta.dirname, "../../..");

/** Reads the configuration of this process. An empty variable counts as absent; a relative data folder is the caller's. */
export function readConfig(): CliConfig {
  const environment = process.env;
  const given = (name: string): string | undefined => environment[name] || undefined;
  return Object.freeze({
    url: given("COUNTERSIGN_URL"),
    token: given("COUNTERSIGN_TOKEN"),
    dataDir: chooseDataDir(given("COUNTERSIGN_DATA")),
    databaseUrl: given("DATABASE_URL"),
    databaseDirectUrl: given("DATABASE_DIRECT_URL"),
    port: given("PORT"),
    publicUrl: given("PUBLIC_URL"),
    isColorUnwanted: given("NO_COLOR") !== undefined || given("TERM") === "dumb",
    environment,
  });
}
