-- Leased → unleased. A run in which nothing is left to do parks; one that is given back in the middle (a shutdown, a
-- scope that was killed) is ready at once for whoever may take it. Refused while something is newly ready, unless the
-- holder is leaving: then the news stays on the row for the next one. The epoch stays.
create or replace function release_run(p_runs uuid[], p_epochs bigint[], p_leases uuid[], p_leaving boolean[], p_blocking boolean)
returns table (run_id uuid, outcome text)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked uuid[] := lock_runs(p_runs, p_blocking);
  gone   uuid[];
begin
  with released as (
    update runs r
       set lease_id    = null,
           lease_until = null,
           status      = s.status,
           waits_on    = s.waits_on,
           wake_at     = s.wake_at,
           ready_at    = case when not s.is_idle then coalesce(r.ready_at, clock_timestamp()) else r.ready_at end,
           -- Going in good order is progress: only claims that ended in a crash count towards quarantine.
           claims_without_progress = 0,
           worked_ms   = r.worked_ms + (extract(epoch from clock_timestamp() - r.claimed_at) * 1000)::bigint
      from unnest(p_runs, p_epochs, p_leases, p_leaving) n (run, epoch, lease, is_leaving)
      join run_state(locked) s on s.run_id = n.run
     where r.id = n.run and r.epoch = n.epoch and r.lease_id = n.lease
       and (n.is_leaving or (r.ready_at is null and s.is_idle))
    returning r.id)
  select array_agg(id) into gone from released;

  return query
  select r.id,
         case when r.id = any (gone)                              then 'released'
              when r.epoch = n.epoch and r.lease_id = n.lease     then 'busy'
              else 'lease_lost'
         end
    from unnest(p_runs, p_epochs, p_leases) n (run, epoch, lease)
    join runs r on r.id = n.run
   where r.id = any (locked);
end
$$;
