import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { connect, type Sql } from "@countersign/db/connect.ts";
import { startEmbedded } from "@countersign/db/embedded.ts";
import { migrate } from "@countersign/db/migrate.ts";
import { v7 as uuidv7 } from "uuid";
import { commitWithin } from "./commit.ts";
import { decideApproval } from "./commits/decide-approval.ts";
import { startRun } from "./commits/start-run.ts";
import { createEngine } from "./create-engine.ts";
import type { Decorator } from "./decorate-tool.ts";
import { type Definition, grantsOf, parseDefinition } from "./definition.ts";
import { CapabilityRefused, type EngineEvent } from "./engine.ts";
import { makeAgent, type MadeAgent } from "./make-agent.ts";
import { createScriptedModel } from "./scripted-model.ts";
import type { Tool } from "./tool.ts";
import { registerTools } from "./tools.ts";
import { driveRun } from "./testing/engine.ts";

export interface KitOptions {
  /** A PostgreSQL server on which databases may be created; unless stated an embedded one is started for the kit. */
  readonly databaseUrl?: string;
}

export interface RunToolOptions {
  /** The secret of each capability that the tool requires. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** What the person says where the gate asks; `approve` unless stated. */
  readonly answer?: "approve" | "deny";
  readonly approvalPolicy?: Definition["approvalPolicy"];
  readonly decorators?: readonly Decorator[];
}

/** What became of a call, as the model and a person would see it. */
export interface ToolRun {
  readonly verdict: string;
  /** The row of the decision table, and why. */
  readonly row: string;
  readonly reason: string;
  /** The lines of the card; undefined where nobody was asked. */
  readonly card: readonly string[] | undefined;
  readonly status: "done" | "failed" | "denied" | "unknown";
  /** Why there is no ordinary result; null where there is one. */
  readonly code: string | null;
  readonly content: string;
  /** Errors of the tool's own, which the model is not shown. */
  readonly errors: readonly unknown[];
}

export interface TestKit {
  readonly sql: Sql;
  /** The workspace that the calls belong to, and the user they act for. */
  readonly agent: MadeAgent;
  /** Has an agent call the tool once, on the way of every call: gate, card, decision, begin, executor, result. */
  runTool(tool: Tool, args: unknown, options?: RunToolOptions): Promise<ToolRun>;
  /** Afterwards the database is gone, and the server where it was started for the kit. */
  close(): Promise<void>;
}

/** A migrated database of its own, in which tools can be tried as they will run. Where it cannot be had nothing is left open. */
export async function openTestKit({ databaseUrl }: KitOptions = {}): Promise<TestKit> {
  const server = databaseUrl === undefined ? await startOwnServer() : { url: databaseUrl, stop: async () => undefined };
  const admin = connect(server.url, { max: 1, applicationName: "countersign test kit" });
  const name = `countersign_kit_${randomUUID().replaceAll("-", "")}`;
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  const sql = connect(url.href, { applicationName: "countersign test kit" });
  const close = async (): Promise<void> => {
    await sql.end({ timeout: 5 });
    try {
      await admin.unsafe(`drop database if exists ${name} with (force)`);
    } finally {
      await admin.end({ timeout: 5 });
      await server.stop();
    }
  };
  try {
    await admin.unsafe(`create database ${name}`);
    await migrate(sql);
    const agent = await makeAgent(sql, { name: "kit", model: "scripted", toolset: [] });
    return {
      sql,
      agent,
      runTool: async (tool, args, options = {}) => await runOnce(sql, agent, tool, args, options),
      close,
    };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}

async function startOwnServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), "countersign-kit-"));
  const server = await startEmbedded({ dataDir, durable: false });
  return {
    url: server.url,
    async stop() {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function runOnce(
  sql: Sql,
  { workspaceId, userId }: MadeAgent,
  tool: Tool,
  args: unknown,
  options: RunToolOptions,
): Promise<ToolRun> {
  const { secrets = {}, answer = "approve", decorators = [], approvalPolicy } = options;
  const tools = registerTools([tool], { decorators });
  const spec = parseDefinition(
    {
      name: `kit ${uuidv7()}`,
      model: "scripted",
      toolset: [tool.name],
      ...(approvalPolicy === undefined ? {} : { approvalPolicy }),
    },
    tools,
  );
  const agent = await makeAgent(sql, spec, { workspaceId, userId });
  const events: EngineEvent[] = [];
  const engine = createEngine({
    sql,
    tools,
    model: createScriptedModel({
      [spec.name]: ({ turn }) => (turn === 0 ? { use: [{ tool: tool.name, args }] } : { say: "done" }),
    }),
    report: (event) => events.push(event),
    openCapability: async ({ capability }) => {
      const secret = secrets[capability];
      if (secret === undefined)
        throw new CapabilityRefused(`capability denied: ${capability}; the test gives no secret for it`);
      return { use: (body) => body(secret) };
    },
  });
  const runId = uuidv7();
  await commitWithin(sql, startRun, {
    runId,
    workspaceId,
    definitionId: agent.definitionId,
    definitionVersion: 1,
    startedBy: userId,
    title: `tries ${tool.name}`,
    input: JSON.stringify("try it"),
    grants: grantsOf(spec, tools),
  });
  await driveRun(engine, runId);
  const asked = await readApproval(sql, runId);
  if (asked?.kind === "approval" && asked.status === "pending") {
    const { id: approvalId, version, argsHash } = asked;
    await commitWithin(sql, decideApproval, { runId, approvalId, workspaceId, userId, answer, version, argsHash });
    await driveRun(engine, runId);
  }
  const call = await readCall(sql, runId);
  return {
    ...call,
    card: asked === undefined ? undefined : (JSON.parse(asked.card) as { details: string[] }).details,
    errors: events.flatMap((event) => (event.kind === "tool.failed" ? [event.error] : [])),
  };
}

interface Asked {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  readonly version: number;
  readonly argsHash: string;
  readonly card: string;
}

async function readApproval(sql: Sql, runId: string): Promise<Asked | undefined> {
  const [asked] = await sql<Asked[]>`
    select id, kind, status, version, args_hash as "argsHash", card
      from approvals where run_id = ${runId} and kind = 'approval'`;
  return asked;
}

async function readCall(sql: Sql, runId: string): Promise<Omit<ToolRun, "card" | "errors">> {
  const [call] = await sql<
    { verdict: string; row: string; reason: string; status: string; code: string | null; result: string | null }[]
  >`
    select verdict, gate_row as row, gate_reason as reason, status, result_code as code, result
      from tool_calls where run_id = ${runId}`;
  if (call === undefined) throw new Error("the call was not recorded; see the run's log");
  const { verdict, row, reason, status, code, result } = call;
  if (!isSettled(status))
    throw new Error(`the call came to no end: it is ${status}; a question to a person cannot be tried with the kit`);
  return { verdict, row, reason, status, code, content: result === null ? "" : (JSON.parse(result) as string) };
}

function isSettled(status: string): status is ToolRun["status"] {
  return ["done", "failed", "denied", "unknown"].includes(status);
}
