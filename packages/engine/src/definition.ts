import type { Queryable } from "@countersign/db/connect.ts";
import { spanMs, storable, storableText } from "@countersign/gate/storable.ts";
import { z } from "zod";
import { EngineError } from "./engine-error.ts";
import { approverRule, problemsOfApprovers } from "./approver-rule.ts";
import type { Tools } from "./tools.ts";

/** What an agent is: a row with versions, never edited in place. Durations in milliseconds, money in millionths. */
export const definitionSpec = z.strictObject({
  name: storableText(100),
  description: storable.max(2_000).default(""),
  model: storableText(200),
  /** What judges the risk of a command, where that could spare a person a question; absent, the model itself. */
  classifierModel: storableText(200).optional(),
  instructions: storable.max(100_000).default(""),
  toolset: z.array(z.string().min(1)).max(200),
  /** Narrows the capabilities its tools may acquire; absent, all that its tools require. */
  caps: z.array(z.string().min(1)).optional(),
  approvalPolicy: z.enum(["none", "outbound", "all"]).default("outbound"),
  /** What runs unasked; absent, the tools' own declarations decide. */
  dial: z.enum(["none", "read-only", "low", "high", "read", "write"]).optional(),
  /** Options bound beforehand, by the role that a tool asks for (`analyze:image`): to bind one is to agree to its use. */
  companions: z
    .record(storableText(200), storableText(500), {
      error: (issue) => (issue.code === "invalid_key" ? issue.issues[0]?.message : undefined),
    })
    .optional(),
  /** After a person's denial: the model goes on, or the run ends as `blocked_by_approval`. */
  onDenial: z.enum(["continue", "stop"]).default("continue"),
  /** What becomes of a question that nobody can answer. */
  unattended: z.enum(["park", "deny"]).default("park"),
  /** How long an approval waits before it expires; absent, for ever. */
  approvalExpiresMs: spanMs.optional(),
  /** Who decides its approvals, and what happens while nobody does; absent, one approver or administrator. */
  approvers: approverRule.optional(),
  maxOutputTokens: z.int().positive().default(8_192),
  limits: z
    .strictObject({
      turns: z.int().positive().default(200),
      toolCalls: z.int().positive().default(1_000),
      tokens: z.int().positive().optional(),
      costMicros: z.int().positive().optional(),
      /** Time a worker spends on the run; waiting does not count. */
      workedMs: spanMs.optional(),
    })
    .prefault({}),
});

export type Definition = z.infer<typeof definitionSpec>;

/**
 * Reads a definition from outside. Throws `invalid_definition` with every problem at once: unknown fields, tools that are
 * not in the catalog, capabilities that none of its tools require.
 */
export function parseDefinition(source: unknown, tools: Tools): Definition {
  const parsed = definitionSpec.safeParse(source);
  const read = parsed.success ? parsed.data : readParts(source);
  const problems = [
    ...(parsed.success ? [] : [z.prettifyError(parsed.error)]),
    ...[...problemsOfTools(read, tools), ...problemsOfApprovers(read.approvers, read.approvalExpiresMs)].map(
      (problem) => `✖ ${problem}`,
    ),
  ];
  if (parsed.success && problems.length === 0) return parsed.data;
  throw new EngineError("invalid_definition", `This is not a definition:\n${problems.join("\n")}`);
}

type Checked = Partial<Pick<Definition, "toolset" | "caps" | "approvers" | "approvalExpiresMs">>;

/** The parts of what is no definition that are right by themselves, so that they too are held to what else must hold. */
function readParts(source: unknown): Checked {
  if (typeof source !== "object" || source === null) return {};
  const { toolset, caps, approvers, approvalExpiresMs } = definitionSpec.shape;
  const tools = z.object({ toolset, caps }).safeParse(source);
  // Together, since the times of the rule are compared with how long approvals wait.
  const people = z.object({ approvers, approvalExpiresMs }).safeParse(source);
  return { ...(tools.success ? tools.data : {}), ...(people.success ? people.data : {}) };
}

function problemsOfTools({ toolset, caps = [] }: Checked, tools: Tools): string[] {
  if (toolset === undefined) return [];
  const unknown = toolset.filter((tool) => !tools.has(tool)).map((tool) => JSON.stringify(tool));
  const reachable = new Set(requirementsOf(toolset, tools));
  const known = [...tools.keys()].join(", ");
  return [
    ...(unknown.length === 0 ? [] : [`there is no tool ${unknown.join(", nor ")}; known: ${known}`]),
    ...caps
      .filter((cap) => !reachable.has(cap))
      .map((cap) => `none of its tools requires the capability ${JSON.stringify(cap)}`),
  ];
}

/** The capabilities a run of this definition is granted when it starts: what its tools require, narrowed by `caps`. */
export function grantsOf(definition: Definition, tools: Tools): readonly string[] {
  const required = requirementsOf(definition.toolset, tools);
  const { caps } = definition;
  return caps === undefined ? required : required.filter((capability) => caps.includes(capability));
}

function requirementsOf(toolset: readonly string[], tools: Tools): string[] {
  const required = toolset.flatMap((name) => tools.get(name)?.tool.requires ?? []);
  return [...new Set(required)].toSorted();
}

/** Loads versions of definitions, each once: a version never changes. */
export function createDefinitions(sql: Queryable): (definitionId: string, version: number) => Promise<Definition> {
  const loaded = new Map<string, Promise<Definition>>();
  return async (definitionId, version) => {
    const key = `${definitionId}@${version}`;
    const known = loaded.get(key) ?? loadDefinition(sql, definitionId, version);
    loaded.set(key, known);
    try {
      return await known;
    } catch (error) {
      loaded.delete(key);
      throw error;
    }
  };
}

async function loadDefinition(sql: Queryable, definitionId: string, version: number): Promise<Definition> {
  const [row] = await sql<{ spec: unknown }[]>`
    select spec from definition_versions where definition_id = ${definitionId} and version = ${version}`;
  if (row === undefined)
    throw new EngineError("unknown_definition", `There is no version ${version} of the definition ${definitionId}`);
  return definitionSpec.parse(row.spec);
}
