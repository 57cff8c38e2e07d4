import type { Queryable } from "@countersign/db/connect.ts";
import { appScope, type Author, type Scope } from "@countersign/engine/commits/kill-scope.ts";
import { definitionSpec, type Definition } from "@countersign/engine/definition.ts";
import { type Actor, hasRole, requireRole, wayOf } from "./auth.ts";
import { Problem } from "./problem.ts";

/** A scope that policy can be set on, with what its rights and its effective policy depend on. */
export interface PolicyScope extends Scope {
  /** Of the run's version, or of the current one; undefined for a workspace and the app. */
  readonly definition: Definition | undefined;
  readonly definitionId: string | undefined;
  /** Who started the run; undefined for any other scope. */
  readonly startedBy: string | undefined;
  readonly hasEnded: boolean;
}

export interface AskedScope {
  readonly scope: Scope["scope"];
  /** Of the definition or the run. */
  readonly id?: string | undefined;
}

interface DefinitionRow {
  readonly definitionId: string;
  readonly startedBy: string | null;
  readonly status: string | null;
  readonly spec: unknown;
}

const ofRun = `
  select r.definition_id as "definitionId", r.started_by as "startedBy", r.status, v.spec
    from runs r
    join definition_versions v on v.definition_id = r.definition_id and v.version = r.definition_version
   where r.workspace_id = $1::uuid and r.id = $2::uuid`;

const ofDefinition = `
  select d.id as "definitionId", null as "startedBy", null as status, v.spec
    from definitions d
    join definition_versions v on v.definition_id = d.id and v.version = d.current_version
   where d.workspace_id = $1::uuid and d.id = $2::uuid`;

/** The scope that a request names; refused where the workspace has none such. */
export async function findPolicyScope(sql: Queryable, actor: Actor, { scope, id }: AskedScope): Promise<PolicyScope> {
  const { workspaceId } = actor;
  const none = { definition: undefined, definitionId: undefined, startedBy: undefined, hasEnded: false };
  if (scope === "app") return { ...appScope, ...none };
  if (scope === "workspace") {
    if (id === undefined || id === workspaceId) return { scope, scopeId: workspaceId, workspaceId, ...none };
    throw noScope(scope, id);
  }
  if (id === undefined) {
    throw new Problem("invalid_request", `Which ${scope}? Send its id.`, {
      errors: [{ path: "query.id", message: "is missing" }],
    });
  }
  const [row] = await sql.unsafe<DefinitionRow[]>(scope === "run" ? ofRun : ofDefinition, [workspaceId, id], {
    prepare: true,
  });
  if (row === undefined) throw noScope(scope, id);
  const parsed = definitionSpec.safeParse(row.spec);
  return {
    scope,
    scopeId: id,
    workspaceId,
    definition: parsed.success ? parsed.data : undefined,
    definitionId: row.definitionId,
    startedBy: row.startedBy ?? undefined,
    hasEnded: row.status === "completed" || row.status === "failed" || row.status === "canceled",
  };
}

/**
 * Returns where the actor may change the policy of the scope: at a run or a definition whoever may approve its calls, at a
 * workspace an administrator, and with a token that may decide. `loosens`: calls could run that would wait for a person,
 * which is refused to one person alone where the approver rule asks for several, and to the starter where it forbids that;
 * at a definition anybody but an administrator could be the starter.
 */
export async function requirePolicyRight(
  sql: Queryable,
  actor: Actor,
  scope: PolicyScope,
  act: string,
  loosens: boolean,
): Promise<void> {
  if (scope.scope === "app") {
    throw new Problem(
      "forbidden",
      `${act} of the whole installation is in its policy file (COUNTERSIGN_POLICY), which is read when server and worker start.`,
    );
  }
  if (scope.scope === "workspace") requireRole(actor, "admin", act);
  else await requireApprover(sql, actor, scope, act, loosens);
  if (!actor.mayDecide) {
    throw new Problem(
      "may_not_decide",
      `${act} decides for later calls, and this token of ${actor.name} was made without the right to decide. Use one that has it.`,
    );
  }
}

async function requireApprover(
  sql: Queryable,
  actor: Actor,
  { scope, definition, startedBy }: PolicyScope,
  act: string,
  loosens: boolean,
): Promise<void> {
  const rule = definition?.approvers;
  const isApprover =
    hasRole(actor, "admin") ||
    (rule === undefined ? hasRole(actor, "approver") : await isAmongApprovers(sql, actor, rule));
  if (!isApprover) {
    throw new Problem(
      "not_an_approver",
      `${act} needs somebody who may approve the calls of this ${scope}, and ${actor.name} is not among them.`,
    );
  }
  if (!loosens || rule === undefined) return;
  if (rule.selfApproval === "forbid" && startedBy === actor.userId) {
    throw new Problem(
      "not_an_approver",
      `${actor.name} started this run, and its definition does not let whoever starts a run decide on its calls. Ask another approver.`,
    );
  }
  // A rule of the definition answers for the runs that its author starts, too.
  if (rule.selfApproval === "forbid" && scope === "definition" && !hasRole(actor, "admin")) {
    throw new Problem(
      "not_an_approver",
      `${act} would also let calls run of runs that ${actor.name} starts, on which its definition does not let them decide. An administrator may do that; or set it for a run of somebody else's.`,
    );
  }
  if ((rule.quorum ?? 1) > 1 && !hasRole(actor, "admin")) {
    throw new Problem(
      "not_an_approver",
      `${act} would let calls run that ${rule.quorum} people must approve together. An administrator may do that, or change the definition.`,
    );
  }
}

async function isAmongApprovers(sql: Queryable, actor: Actor, rule: object): Promise<boolean> {
  const [row] = await sql.unsafe<{ isAmong: boolean }[]>(
    `select is_among_approvers($1::text::json, false, $2::uuid, $3::text) as "isAmong"`,
    [JSON.stringify(rule), actor.userId, actor.role],
    { prepare: true },
  );
  return row?.isAmong === true;
}

/** Who changes policy, for the commit and the audit. */
export function authorOf(actor: Actor): Author & { readonly userId: string } {
  return { userId: actor.userId, way: wayOf(actor) };
}

function noScope(scope: string, id: string): Problem {
  return new Problem("not_found", `There is no ${scope} ${id} in this workspace.`);
}
