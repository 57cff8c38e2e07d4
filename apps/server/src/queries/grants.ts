import type { Queryable } from "@countersign/db/connect.ts";
import type { Grant } from "../shapes/grants.ts";

const grants = `
  with revoked as (
    select distinct on (c.capability) c.capability, l.at, l.actor
      from run_log l
     cross join lateral (select substring((l.content::json #>> '{}') from 9) as capability) c
     where l.run_id = $1 and l.kind = 'grant.revoked'
     order by c.capability, l.seq desc),
  leases as (
    select l.capability, max(l.acquired_at) as acquired_at,
           max(l.expires_at) filter (where l.revoked_at is null and l.expires_at > clock_timestamp()
                                       and c.status = 'executing') as held_until
      from tool_calls c
      join capability_leases l on l.call_id = c.id
     where c.run_id = $1
     group by l.capability)
  select g.capability, case when g.capability = any (r.grants) then 'granted' else 'revoked' end as state,
         l.acquired_at as "acquiredAt", l.held_until as "heldUntil",
         case when g.capability <> all (r.grants) then v.at end as "revokedAt",
         case when u.id is not null and g.capability <> all (r.grants)
              then json_build_object('id', u.id, 'name', u.name) end as "revokedBy"
    from runs r
   cross join lateral (select unnest(r.grants) as capability union select capability from revoked) g
    left join revoked v on v.capability = g.capability
    left join leases l  on l.capability = g.capability
    left join users u   on u.id = case when v.actor like 'user:%' then substring(v.actor from 6)::uuid end
   where r.id = $1
   order by g.capability`;

/** What a run may acquire, and what was taken back from it, by name. The caller has made sure whose run it is. */
export async function readGrants(sql: Queryable, runId: string): Promise<Grant[]> {
  return await sql.unsafe<Grant[]>(grants, [runId], { prepare: true });
}
