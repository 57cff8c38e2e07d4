import type { Queryable } from "@countersign/db/connect.ts";
import type { Actor } from "./auth.ts";
import { Problem } from "./problem.ts";
import type { Approval } from "./shapes/approvals.ts";

type Asker = Pick<Actor, "userId" | "name" | "role" | "via">;

interface Standing {
  readonly isNamed: boolean;
  readonly isStarter: boolean;
  readonly roles: readonly string[] | null;
  readonly names: readonly string[];
}

/** Roles and names of those who may decide: of the rule, and once it was escalated of the escalation too. */
const standing = `
  select is_among_approvers(a.approver_rule, a.escalated_at is not null, u.id, u.role) as "isNamed",
         coalesce(a.approver_rule ->> 'selfApproval' = 'forbid' and r.started_by = u.id, false) as "isStarter",
         case when a.approver_rule -> 'roles' is null and a.approver_rule -> 'users' is null then array['approver', 'admin']
              else array(select jsonb_array_elements_text(coalesce((a.approver_rule -> 'roles')::jsonb, '[]'))) end
         || case when a.escalated_at is null then array[]::text[]
                 else array(select jsonb_array_elements_text(coalesce((a.approver_rule #> '{escalation,to,roles}')::jsonb, '[]')))
            end as roles,
         array(select p.name from users p
                where p.workspace_id = a.workspace_id and p.disabled_at is null
                  and ((a.approver_rule -> 'users')::jsonb ? p.id::text
                       or a.escalated_at is not null and (a.approver_rule #> '{escalation,to,users}')::jsonb ? p.id::text)
                order by p.name) as names
    from approvals a
    join runs r  on r.id = a.run_id
    join users u on u.id = $2::uuid
   where a.id = $1::uuid`;

/** The refusal of somebody who may not decide an approval, or none unless one is named: for which reason, and who may. */
export async function notAnApprover(
  sql: Queryable,
  actor: Asker,
  approval?: Pick<Approval, "id" | "approverRule">,
): Promise<Problem> {
  const byRole = `Deciding needs the role approver or admin; ${actor.name} is ${actor.role}. Ask an approver.`;
  if (approval === undefined) return new Problem("not_an_approver", byRole);
  const [found] = await sql.unsafe<Standing[]>(standing, [approval.id, actor.userId], { prepare: true });
  if (found === undefined) return new Problem("not_an_approver", byRole);
  return new Problem("not_an_approver", whyOf(actor, found, approval.approverRule === null, byRole));
}

function whyOf(actor: Asker, { isNamed, isStarter, roles, names }: Standing, isUsual: boolean, byRole: string): string {
  const may = whoMay(roles ?? [], names);
  if (isNamed && isStarter) {
    return `${actor.name} started this run, and its definition does not let whoever starts a run decide on it, nor on a say that was handed over. Somebody else has to decide: ${may}.`;
  }
  if (isNamed && actor.via !== undefined) {
    return `${actor.name} may decide this, but ${actor.via.name}, which acts for them, is ${actor.via.role} and may not. Decide with a token of one's own, or ask ${may}.`;
  }
  if (isUsual) return byRole;
  return `The definition says who decides this, and ${actor.name} (${actor.role}) is not among them. Ask one of them: ${may}.`;
}

function whoMay(roles: readonly string[], names: readonly string[]): string {
  const byRole = [...new Set(roles)].map((role) => `whoever is ${role}`);
  const all = [...byRole, ...names];
  return all.length === 0 ? "nobody is left whom it names; an administrator can change the definition" : all.join(", ");
}
