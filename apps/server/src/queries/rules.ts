import type { Queryable } from "@countersign/db/connect.ts";
import type { Scope } from "@countersign/engine/commits/kill-scope.ts";
import { targetOf } from "@countersign/engine/stored-policy.ts";
import { presetsSaidBy } from "@countersign/gate/presets.ts";
import type { RuleTarget } from "@countersign/gate/rule.ts";
import type { Layer } from "../shapes/rules.ts";

type Rule = Layer["rules"][number];

const live = `
  select r.id, r.version, r.target_kind as "targetKind", r.target_name as "targetName", r.mode, r.entries, r.is_locked as locked,
         r.is_remembered as "isRemembered", r.approval_id as "approvalId", r.expires_at as "expiresAt", r.updated_at as "updatedAt",
         case when u.id is not null then json_build_object('id', u.id, 'name', u.name) end as "createdBy"
    from rules r
    left join users u on u.id = r.created_by
   where r.scope_id = $1::uuid and r.revoked_at is null
   order by r.is_remembered, r.target_kind, r.target_name, r.id`;

const values = `
  select version::int, dial_level as "dialLevel", dial_expires_at as "dialExpiresAt", is_dial_locked as "isDialLocked",
         approval_policy as "approvalPolicy", is_approval_policy_locked as "isApprovalPolicyLocked"
    from policies where scope_id = $1::uuid`;

interface Values {
  readonly version: number;
  readonly dialLevel: NonNullable<Layer["dial"]>["level"] | null;
  readonly dialExpiresAt: Date | null;
  readonly isDialLocked: boolean;
  readonly approvalPolicy: NonNullable<Layer["approvalPolicy"]>["level"] | null;
  readonly isApprovalPolicyLocked: boolean;
}

/** Its presets as they stand now: what has expired is not said any more. */
function presetsOf({
  rules,
  dial,
  approvalPolicy,
}: Pick<Layer, "rules" | "dial" | "approvalPolicy">): Layer["presets"] {
  const isOver = ({ expiresAt }: { readonly expiresAt: Date | null }) => expiresAt !== null && expiresAt <= new Date();
  return [
    ...presetsSaidBy({
      rules: rules
        .filter((rule) => !rule.isRemembered && !isOver(rule))
        .map(({ id, target, mode, entries }) => ({ id, target, mode, ...(entries === null ? {} : { entries }) })),
      ...(dial === null || isOver(dial) ? {} : { dial: { level: dial.level } }),
      ...(approvalPolicy === null ? {} : { approvalPolicy }),
    }),
  ];
}

/** All that one scope says: its rules, those that decisions left there last, its dial and its approval policy. */
export async function readLayer(sql: Queryable, { scope, scopeId }: Scope): Promise<Layer> {
  const [said] = await sql.unsafe<Values[]>(values, [scopeId], { prepare: true });
  const rules = await sql.unsafe<
    (Omit<Rule, "target"> & { readonly targetKind: RuleTarget["kind"]; readonly targetName: string })[]
  >(live, [scopeId], { prepare: true });
  const layer = {
    rules: rules.map(({ targetKind, targetName, ...rule }) => ({ ...rule, target: targetOf(targetKind, targetName) })),
    dial:
      said?.dialLevel == null
        ? null
        : { level: said.dialLevel, expiresAt: said.dialExpiresAt, locked: said.isDialLocked },
    approvalPolicy:
      said?.approvalPolicy == null ? null : { level: said.approvalPolicy, locked: said.isApprovalPolicyLocked },
  };
  return { scope, id: scopeId, version: said?.version ?? 0, ...layer, presets: presetsOf(layer) };
}

/** Where a rule stands, and what it covers; undefined where the workspace has none of this id. The app's is nobody's. */
export async function findRule(
  sql: Queryable,
  workspaceId: string,
  id: string,
): Promise<{ readonly scope: Scope["scope"]; readonly scopeId: string; readonly target: RuleTarget } | undefined> {
  const [row] = await sql.unsafe<
    { scope: Scope["scope"]; scopeId: string; targetKind: RuleTarget["kind"]; targetName: string }[]
  >(
    `select scope, scope_id as "scopeId", target_kind as "targetKind", target_name as "targetName"
       from rules where workspace_id = $1::uuid and id = $2::uuid`,
    [workspaceId, id],
    { prepare: true },
  );
  if (row === undefined) return undefined;
  return { scope: row.scope, scopeId: row.scopeId, target: targetOf(row.targetKind, row.targetName) };
}

/** The targets of the given rules of one scope, by id. */
export async function readTargets(
  sql: Queryable,
  scopeId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RuleTarget>> {
  const rows = await sql.unsafe<{ id: string; kind: RuleTarget["kind"]; name: string }[]>(
    `select id, target_kind as kind, target_name as name from rules where scope_id = $1::uuid and id = any ($2::uuid[])`,
    [scopeId, [...ids]],
    { prepare: true },
  );
  return new Map(rows.map(({ id, kind, name }) => [id, targetOf(kind, name)]));
}
