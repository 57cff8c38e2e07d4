import { createRequire } from "node:module";
import { cpus, loadavg, release, totalmem } from "node:os";
import { connect } from "@countersign/db/connect.ts";

const peers = [
  "@dbos-inc/dbos-sdk",
  "absurd-sdk",
  "openworkflow",
  "@langchain/langgraph",
  "@langchain/langgraph-checkpoint-postgres",
] as const;

export interface Machine {
  readonly date: string;
  readonly processors: string;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
  readonly postgres: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly peers: Readonly<Record<string, string>>;
  /** Of one minute, when the benchmark began: what else went on. */
  readonly load: number;
}

/** On what, with what and when something was measured. */
export async function describeMachine(url: string): Promise<Machine> {
  const sql = connect(url, { max: 1 });
  const settings = await sql<{ name: string; setting: string }[]>`
    select name, current_setting(name) as setting from unnest(array['server_version', 'fsync', 'synchronous_commit', 'shared_buffers']) name`;
  await sql.end();
  const byName = Object.fromEntries(settings.map(({ name, setting }) => [name, setting]));
  const require = createRequire(import.meta.url);
  const versions = peers.map((name) => [name, versionOf(require, name)] as const);
  return {
    date: new Date().toISOString().slice(0, 10),
    processors: `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}`,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `Linux ${release()}`,
    node: process.version,
    postgres: byName["server_version"] ?? "unknown",
    settings: byName,
    peers: Object.fromEntries(versions),
    load: loadavg()[0] ?? Number.NaN,
  };
}

/** From the package's own description: its entry point need not be one that can be required. */
function versionOf(require: NodeJS.Require, name: string): string {
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      return (require(`${folder}/${name}/package.json`) as { version: string }).version;
    } catch {
      continue;
    }
  }
  return "not installed";
}
