-- Leased by a dead worker → ready, or quarantined after p_max_claims claims without progress: a run that keeps killing
-- its worker stops until a person looks at it. What the dead worker was executing stays executing under its old epoch;
-- whoever claims the run next decides by the tool's effect what became of it.
--   p_only: null, or the only runs to consider (a batch that failed is retried one by one).
create or replace function recover_runs(p_limit int, p_max_claims int, p_only uuid[])
returns table (run_id uuid, outcome text)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  dead        uuid[];
  quarantined uuid[];
begin
  select array_agg(l.id) into dead
    from (select r.id
            from runs r
           where r.lease_id is not null and r.lease_until < clock_timestamp() and (p_only is null or r.id = any (p_only))
           order by r.lease_until
           limit p_limit
             for no key update skip locked) l;
  if dead is null then
    return;
  end if;

  quarantined := quarantine_runs(dead, p_max_claims);

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
