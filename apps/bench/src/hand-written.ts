import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { connect, type Sql } from "@countersign/db/connect.ts";
import type { MadeAgent } from "@countersign/engine/make-agent.ts";
import { findAgent } from "./ours.ts";

const script = join(import.meta.dirname, "hand-written.pgbench.sql");

export interface HandWritten {
  readonly by: "pgbench" | "node";
  readonly runsPerSecond: number;
}

/** Writes gated runs as one would by hand, from so many connections at once, with pgbench where there is one. */
export async function runHandWritten(
  url: string,
  atATime: number,
  windowMs: number,
  environment: NodeJS.ProcessEnv,
): Promise<HandWritten> {
  const sql = connect(url, { max: atATime, applicationName: "hand-written" });
  const agent = await findAgent(sql);
  await sql.unsafe("vacuum analyze").simple();
  await sql.unsafe("checkpoint");
  const seconds = Math.max(1, Math.round(windowMs / 1_000));
  try {
    const byPgbench = await runPgbench(url, agent, atATime, seconds, environment);
    if (byPgbench !== undefined) return { by: "pgbench", runsPerSecond: byPgbench };
    return { by: "node", runsPerSecond: await runInNode(sql, agent, atATime, seconds) };
  } finally {
    await sql.end();
  }
}

/** Undefined where this machine has no pgbench. */
async function runPgbench(
  url: string,
  { workspaceId, definitionId, userId }: MadeAgent,
  clients: number,
  seconds: number,
  environment: NodeJS.ProcessEnv,
): Promise<number | undefined> {
  const { hostname, port, username, password, pathname } = new URL(url);
  const connection = `host=${hostname} port=${port} user=${username} dbname=${pathname.slice(1)}`;
  const variables = [`workspace=${workspaceId}`, `definition=${definitionId}`, `approver=${userId}`];
  const options = ["--no-vacuum", "--protocol=prepared", `--client=${clients}`, "--jobs=2", `--time=${seconds}`];
  try {
    const { stdout } = await promisify(execFile)(
      "pgbench",
      [...options, `--file=${script}`, ...variables.flatMap((variable) => ["-D", variable]), connection],
      { env: { ...environment, PGPASSWORD: password } },
    );
    return Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

type Variables = Record<string, string>;

/** Runs each statement of the script in turn, over and over, as pgbench would. */
async function runInNode(sql: Sql, agent: MadeAgent, clients: number, seconds: number): Promise<number> {
  const statements = readStatements();
  const end = performance.now() + seconds * 1_000;
  let runs = 0;
  const beganAt = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < end) {
        const variables: Variables = {
          workspace: agent.workspaceId,
          definition: agent.definitionId,
          approver: agent.userId,
        };
        for (const { text, names } of statements) {
          const [row] = await sql.unsafe<Variables[]>(
            text,
            names.map((name) => variables[name] ?? null),
            { prepare: true },
          );
          Object.assign(variables, row);
        }
        runs += 1;
      }
    }),
  );
  return runs / ((performance.now() - beganAt) / 1_000);
}

function readStatements(): { text: string; names: string[] }[] {
  const source = readFileSync(script, "utf8").replaceAll(/^--.*$/gm, "");
  return source
    .split(/;\s*$|\\gset/m)
    .filter((text) => text.trim() !== "")
    .map((text) => {
      const names: string[] = [];
      const numbered = text.replaceAll(/(?<!:):([a-z]+)\b/g, (_match, name: string) => {
        if (!names.includes(name)) names.push(name);
        return `$${names.indexOf(name) + 1}`;
      });
      return { text: numbered, names };
    });
}

/** Rows written per finished run, by table: what shows that two ways of doing it write the same. */
export async function countRowsPerRun(url: string): Promise<Readonly<Record<string, string>>> {
  const sql = connect(url, { max: 1 });
  await sql`select pg_stat_force_next_flush()`;
  const rows = await sql<{ name: string; written: string }[]>`
    select relname as name,
           round(n_tup_ins::numeric / nullif(n.runs, 0), 1)::text || ' new, ' || round(n_tup_upd::numeric / nullif(n.runs, 0), 1)::text || ' changed' as written
      from pg_stat_user_tables
     cross join (select count(*) as runs from runs where status = 'completed') n
     where relname in ('runs', 'run_log', 'tool_calls', 'approvals', 'tasks', 'audit', 'capability_leases')
     order by relname`;
  await sql.end();
  return Object.fromEntries(rows.map(({ name, written }) => [name, written]));
}
