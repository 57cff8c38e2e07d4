-- The last statement of a commit that a worker made: takes the log numbers the commit used, derives the status, and lets
-- go of the lease where nothing is left to do. What became ready meanwhile is taken here, under the lock: the lease
-- stays, `has_news` tells the holder to look again, and so no decision is lost between its commit and our parking.
create or replace function settle_runs(p_ids uuid[], p_lines int[])
returns table (run_id uuid, has_news boolean, is_parked boolean)
language plpgsql volatile as $$
#variable_conflict use_column
begin
  return query
  update runs r
     set last_seq                = r.last_seq + n.lines,
         status                  = s.status,
         waits_on                = s.waits_on,
         wake_at                 = s.wake_at,
         ready_at                = null,
         changed                 = pg_current_xact_id(),
         claims_without_progress = 0,
         lease_id                = case when s.is_idle and b.ready_at is null then null else r.lease_id end,
         lease_until             = case when s.is_idle and b.ready_at is null then null else r.lease_until end,
         worked_ms               = case when s.is_idle and b.ready_at is null
                                        then r.worked_ms + (extract(epoch from clock_timestamp() - r.claimed_at) * 1000)::bigint
                                        else r.worked_ms
                                   end
    from unnest(p_ids, p_lines) n (id, lines)
   cross join lateral run_state(array[n.id]) s
    join runs b on b.id = n.id
   where r.id = n.id
  returning r.id, b.ready_at is not null, r.lease_id is null;
end
$$;
