-- Leased by a dead worker → ready, or quarantined after p_max_claims claims without progress: a run that keeps killing
-- its worker stops until a person looks at it. What the dead worker was executing stays executing under its old epoch;
-- whoever claims the run next decides by the tool's effect what became of it.
create or replace function recover_runs(p_limit int, p_max_claims int)
returns table (run_id uuid, outcome text)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  dead        uuid[];
  quarantined uuid[];
begin
  select array_agg(l.id) into dead
    from (select r.id from runs r where r.lease_id is not null and r.lease_until < clock_timestamp() order by r.lease_until limit p_limit
             for no key update skip locked) l;
  if dead is null then
    return;
  end if;

  with stopped as (
    update runs r
       set quarantined_at = clock_timestamp()
     where r.id = any (dead) and r.claims_without_progress >= p_max_claims
    returning r.id, r.workspace_id, r.claims_without_progress),
  audited as (
    insert into audit (workspace_id, actor, action, run_id, details)
    select s.workspace_id, 'system:recovery', 'run.quarantined', s.id, json_build_object('claimsWithoutProgress', s.claims_without_progress)
      from stopped s)
  select array_agg(s.id) into quarantined from stopped s;

  update runs r
     set lease_id    = null,
         lease_until = null,
         status      = s.status,
         waits_on    = s.waits_on,
         wake_at     = s.wake_at,
         ready_at    = case when r.quarantined_at is null then coalesce(r.ready_at, clock_timestamp()) end,
         worked_ms   = r.worked_ms + (extract(epoch from r.lease_until - r.claimed_at) * 1000)::bigint
    from run_state(dead) s
   where r.id = s.run_id;

  return query
  select d, case when d = any (quarantined) then 'quarantined' else 'ready' end from unnest(dead) d;
end
$$;
