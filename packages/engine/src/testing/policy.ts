import type { Queryable } from "@countersign/db/connect.ts";
import type { RuleEntry } from "@countersign/gate/rule.ts";
import { v7 as uuidv7 } from "uuid";
import type { Author, Scope } from "../commits/kill-scope.ts";
import { type RuleChange, setRules, type SetRulesOutcome } from "../commits/set-rules.ts";
import type { World } from "./fixtures.ts";

/** A scope of a world by its name; for a run with its id. */
export function scopeOf(world: World, scope: "workspace" | "definition" | { readonly run: string }): Scope {
  const { workspaceId, definitionId } = world;
  if (scope === "workspace") return { scope, scopeId: workspaceId, workspaceId };
  if (scope === "definition") return { scope, scopeId: definitionId, workspaceId };
  return { scope: "run", scopeId: scope.run, workspaceId };
}

/** A person who may write any rule of a world. */
export function authorOf(world: World): Author & { readonly userId: string } {
  return { userId: world.admin, way: "test" };
}

/** A change of the rule for a tool; by default one that nobody has seen before. */
export function toolRule(
  name: string,
  mode: NonNullable<RuleChange["rule"]>["mode"] | undefined,
  over: Partial<RuleChange> = {},
): RuleChange {
  return { target: { kind: "tool", name }, rule: mode === undefined ? undefined : { mode }, covers: [name], ...over };
}

/** Writes rules and expects it to work. */
export async function writeRules(
  sql: Queryable,
  world: World,
  scope: Scope,
  ...changes: readonly RuleChange[]
): Promise<Extract<SetRulesOutcome, { kind: "set" }>["changes"]> {
  const outcome = await setRules(sql, scope, authorOf(world), changes);
  if (outcome.kind !== "set") throw new Error(`the rules were not set: ${outcome.kind}`);
  return outcome.changes;
}

/** A rule that a decision left behind, as if it had been there for long; returns its id. */
export async function givenRemembered(
  sql: Queryable,
  world: World,
  at: Parameters<typeof scopeOf>[1],
  tool: string,
  over: { readonly entries?: readonly RuleEntry[]; readonly definitionHash?: string } = {},
): Promise<string> {
  const id = uuidv7();
  const { scope, scopeId } = scopeOf(world, at);
  await sql.unsafe(
    `insert into rules (id, scope, scope_id, workspace_id, target_kind, target_name, mode, is_remembered, entries, definition_hash)
     values ($1::uuid, $2::text, $3::uuid, $4::uuid, 'tool', $5::text, 'allow', true, $6::text::json, $7::text)`,
    [
      id,
      scope,
      scopeId,
      world.workspaceId,
      tool,
      over.entries === undefined ? null : JSON.stringify(over.entries),
      over.definitionHash ?? null,
    ],
  );
  return id;
}
