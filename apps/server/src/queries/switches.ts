import type { Queryable } from "@countersign/db/connect.ts";
import type { HeldBy, KillSwitch } from "../shapes/switches.ts";
import { hideInText } from "./hide-secrets.ts";

/** SQL: the scopes whose kill switch holds the run `r`. */
export const scopesOfRun = "('00000000-0000-0000-0000-000000000000', r.workspace_id, r.definition_id, r.id)";

/** SQL: who threw the switch `k`, as the workspace may know it: the installation's may be of somebody of another. */
const thrower = `json_build_object('id', u.id, 'name', coalesce(u.name, 'an administrator of another workspace'))`;

const since = `to_char(k.killed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** SQL: the widest switch that holds the run `r`, as JSON that `hideInHeldBy` takes; null where none does. */
export const switchOfRun = `(
  select json_build_object('scope', k.scope, 'since', ${since}, 'by', ${thrower}, 'reason', k.kill_reason)
    from policies k
    left join users u on u.id = k.killed_by and u.workspace_id = r.workspace_id
   where k.killed_at is not null and k.scope_id in ${scopesOfRun}
   order by array_position(array['app', 'workspace', 'definition', 'run'], k.scope)
   limit 1)`;

// A switch that stayed on when its run ended holds nothing.
const switchesOn = `
  with k as (
    select scope, scope_id, null as name, killed_at, killed_by, kill_reason
      from policies
     where killed_at is not null and (workspace_id = $1::uuid or scope = 'app')
     union all
    select kind, null, name, killed_at, killed_by, reason from tool_switches where scope_id = $1::uuid)
  select k.scope, case when k.scope <> 'app' then k.scope_id end as id, coalesce(k.name, w.name, d.name, r.title) as name,
         ${since} as since, ${thrower} as by, k.kill_reason as reason
    from k
    left join workspaces w  on k.scope = 'workspace' and w.id = k.scope_id
    left join definitions d on k.scope = 'definition' and d.id = k.scope_id
    left join runs r        on k.scope = 'run' and r.id = k.scope_id
    left join users u       on u.id = k.killed_by and u.workspace_id = $1::uuid
   where r.status is null or r.status not in ('completed', 'failed', 'canceled')
   order by k.killed_at desc, k.scope, k.name`;

/** The kill switches that hold something of the workspace, the installation's among them, newest first. */
export async function listSwitches(sql: Queryable, workspaceId: string): Promise<KillSwitch[]> {
  const rows = await sql.unsafe<KillSwitch[]>(switchesOn, [workspaceId], { prepare: true });
  return rows.map((row) => ({ ...row, name: hideInText(row.name), reason: hideInText(row.reason) }));
}

/** What `switchOfRun` gives, for people's eyes. */
export function hideInHeldBy(heldBy: HeldBy | null): HeldBy | null {
  return heldBy === null ? null : { ...heldBy, reason: hideInText(heldBy.reason) };
}
