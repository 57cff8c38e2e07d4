import { isDeepStrictEqual } from "node:util";
import type { Queryable, Tx } from "@countersign/db/connect.ts";
import { type Definition, definitionSpec, grantsOf, parseDefinition } from "@countersign/engine/definition.ts";
import { EngineError } from "@countersign/engine/engine-error.ts";
import type { Tools } from "@countersign/engine/tools.ts";
import { v7 as newId } from "uuid";
import { findApproverWarnings } from "./approver-warnings.ts";
import { type Actor, wayOf } from "./auth.ts";
import { diffSpecs } from "./diff-specs.ts";
import { invalidField, Problem } from "./problem.ts";
import { appendAudit } from "./queries/audit.ts";
import { readDefinition } from "./queries/definitions.ts";
import { storableLine } from "./shapes/common.ts";
import type { Applied, DefinitionVersion } from "./shapes/definitions.ts";

/** Reads a definition as somebody wrote it; refused with everything that is wrong with it. */
export function readSpec(source: unknown, tools: Tools): Definition {
  try {
    const spec = parseDefinition(source, tools);
    const name = storableLine(100).safeParse(spec.name);
    if (!name.success) throw invalidField("json.spec.name", name.error.issues[0]?.message ?? "cannot be stored");
    return spec;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw new Problem("invalid_definition", error.message);
  }
}

/** What making this definition would come to; refused where the workspace has one of its name. */
export async function planNew(sql: Queryable, actor: Actor, spec: Definition, tools: Tools): Promise<Applied> {
  const known = await readDefinition(sql, actor.workspaceId, { name: spec.name });
  if (known !== undefined) {
    throw new Problem(
      "name_taken",
      `There is a definition ${JSON.stringify(spec.name)} in this workspace, in version ${known.version}. POST /v1/definitions/${known.id}/versions makes its next.`,
    );
  }
  return {
    outcome: "created",
    isDryRun: true,
    id: null,
    name: spec.name,
    version: 1,
    spec,
    changes: diffSpecs({}, spec),
    capabilities: { gained: [...grantsOf(spec, tools)], lost: [] },
    warnings: await findApproverWarnings(sql, actor.workspaceId, spec),
  };
}

/** Afterwards the definition exists in its first version, with a policy of its own. Refused where its name is taken. */
export async function createDefinition(tx: Tx, actor: Actor, spec: Definition, tools: Tools): Promise<Applied> {
  const { workspaceId } = actor;
  await tx.unsafe("select from workspaces where id = $1 for no key update", [workspaceId], { prepare: true });
  const planned = await planNew(tx, actor, spec, tools);
  const id = newId();
  await tx.unsafe(
    "insert into definitions (id, workspace_id, name, current_version) values ($1::uuid, $2::uuid, $3, 1)",
    [id, workspaceId, spec.name],
    { prepare: true },
  );
  requireRightToLoosen(actor, spec, undefined);
  await addVersion(tx, actor, { id, version: 1, spec });
  await tx.unsafe(
    "insert into policies (scope_id, scope, workspace_id) values ($1::uuid, 'definition', $2::uuid)",
    [id, workspaceId],
    { prepare: true },
  );
  return { ...planned, isDryRun: false, id };
}

/** What a new version with this spec would come to; refused where the spec is another definition's. */
export async function planVersion(
  sql: Queryable,
  actor: Actor,
  current: DefinitionVersion,
  spec: Definition,
  tools: Tools,
): Promise<Applied> {
  const { id, name, version } = current;
  if (spec.name !== name) {
    throw invalidField(
      "json.spec.name",
      `is ${JSON.stringify(spec.name)}, and the definition is ${JSON.stringify(name)}; a definition keeps its name, make another one`,
    );
  }
  const stored = definitionSpec.safeParse(current.spec);
  // Defaults that were added since it was stored are no change.
  const changes = diffSpecs(stored.success ? stored.data : current.spec, spec);
  const before = stored.success ? grantsOf(stored.data, tools) : [];
  const after = grantsOf(spec, tools);
  const hasChanged = changes.length > 0;
  return {
    outcome: hasChanged ? "changed" : "unchanged",
    isDryRun: true,
    id,
    name,
    version: hasChanged ? version + 1 : version,
    spec,
    changes,
    capabilities: {
      gained: after.filter((capability) => !before.includes(capability)),
      lost: before.filter((capability) => !after.includes(capability)),
    },
    warnings: await findApproverWarnings(sql, actor.workspaceId, spec),
  };
}

/**
 * Afterwards the spec is the definition's current version: a new one, made on `seenVersion`, unless it says the same as
 * that. Runs keep the version they started with; the definition's policy version moves, so that calls which were judged
 * before are judged again. Refused with 412 where somebody made another version meanwhile.
 */
export async function applyVersion(
  tx: Tx,
  actor: Actor,
  asked: { readonly id: string; readonly seenVersion: number; readonly spec: Definition },
  tools: Tools,
): Promise<Applied> {
  const { id, seenVersion, spec } = asked;
  await tx.unsafe(
    "select from definitions where workspace_id = $1::uuid and id = $2::uuid for no key update",
    [actor.workspaceId, id],
    { prepare: true },
  );
  const current = await findDefinition(tx, actor, id);
  if (current.version !== seenVersion) {
    throw new Problem(
      "stale",
      `The definition ${JSON.stringify(current.name)} is in version ${current.version}, not ${seenVersion}: somebody changed it since you saw it. Look at it again and apply your change to that.`,
    );
  }
  const planned = await planVersion(tx, actor, current, spec, tools);
  if (planned.outcome === "unchanged") return { ...planned, isDryRun: false };
  const { version } = planned;
  requireRightToLoosen(actor, spec, current.spec);
  await addVersion(tx, actor, { id, version, spec });
  await tx.unsafe("update definitions set current_version = $2::int where id = $1::uuid", [id, version], {
    prepare: true,
  });
  await tx.unsafe(
    "select move_policies(array['definition'], array[$1::uuid], array[$2::uuid], array[null::text])",
    [id, actor.workspaceId],
    { prepare: true },
  );
  return { ...planned, isDryRun: false };
}

/** The current version of the definition of this id; refused with 404 where the workspace has none. */
export async function findDefinition(sql: Queryable, actor: Actor, id: string): Promise<DefinitionVersion> {
  const found = await readDefinition(sql, actor.workspaceId, { id });
  if (found === undefined) {
    throw new Problem("not_found", `There is no definition ${id} in this workspace. GET /v1/definitions lists them.`);
  }
  return found;
}

async function addVersion(
  tx: Tx,
  actor: Actor,
  { id, version, spec }: { readonly id: string; readonly version: number; readonly spec: Definition },
): Promise<void> {
  await requireKnownApprovers(tx, actor, spec);
  await tx.unsafe(
    `insert into definition_versions (definition_id, version, spec, created_by)
     values ($1::uuid, $2::int, $3::text::json, $4::uuid)`,
    [id, version, JSON.stringify(spec), actor.userId],
    { prepare: true },
  );
  const action = version === 1 ? "definition.created" : "definition.changed";
  await appendAudit(tx, actor, action, id, { name: spec.name, version, way: wayOf(actor) });
}

/** Whom the approver rule names has to be somebody: an approval that nobody can decide would wait for ever. */
async function requireKnownApprovers(tx: Tx, actor: Actor, { name, approvers }: Definition): Promise<void> {
  const named = [...(approvers?.users ?? []), ...(approvers?.escalation?.to.users ?? [])];
  if (named.length === 0) return;
  const known = await tx.unsafe<{ id: string }[]>(
    "select id from users where workspace_id = $1::uuid and id = any ($2::uuid[]) and disabled_at is null",
    [actor.workspaceId, named],
    { prepare: true },
  );
  const unknown = named.filter((id) => !known.some((user) => user.id === id));
  if (unknown.length === 0) return;
  throw new Problem(
    "invalid_definition",
    `The definition ${JSON.stringify(name)} names approvers who are not in this workspace, or disabled: ${unknown.join(", ")}. GET /v1/users lists who is.`,
  );
}

/**
 * What lets calls run that would wait for a person is for whoever may decide: a token without that right cannot get around
 * it, neither with what a definition says nor by leaving out what the version before it said.
 */
function requireRightToLoosen(actor: Actor, spec: Definition, before: unknown): void {
  if (actor.mayDecide) return;
  const stored = definitionSpec.safeParse(before);
  const { approvers, companions, approvalPolicy, dial } = spec;
  const was: Partial<Definition> = stored.success ? stored.data : {};
  const refuse = (what: string) =>
    new Problem(
      "may_not_decide",
      `This definition ${what}, and this token of ${actor.name} was made without the right to decide. Use a token that has it.`,
    );
  if (approvers !== undefined) throw refuse("says who decides its approvals");
  if (was.approvers !== undefined) throw refuse("no longer says who decides its approvals");
  if (companions !== undefined && !isDeepStrictEqual(companions, was.companions))
    throw refuse("binds options that a person would otherwise pick");
  const isLoose = approvalPolicy === "none" || dial === "high" || dial === "write";
  const isLooser =
    (was.approvalPolicy === "all" && approvalPolicy !== "all") ||
    (was.dial !== undefined && dial !== was.dial && dial !== "none");
  if (isLoose || isLooser)
    throw refuse(
      `lets calls run that would otherwise wait for a person (approvalPolicy ${approvalPolicy}, dial ${dial ?? "unset"})`,
    );
}
