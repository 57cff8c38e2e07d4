-- Leased → leased for longer. Rows that are locked are passed over and renewed at the next beat: a renewal must not wait
-- behind the very work it protects. Returns the leases that were found, renewed or not; what is missing is lost.
create or replace function renew_leases(p_runs uuid[], p_leases uuid[], p_lease_ms bigint)
returns table (run_id uuid, is_renewed boolean)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked uuid[] := lock_runs(p_runs, false);
begin
  update runs r
     set lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    from unnest(p_runs, p_leases) n (run, lease)
   where r.id = n.run and r.id = any (locked) and r.lease_id = n.lease;

  return query
  select r.id, r.id = any (locked)
    from unnest(p_runs, p_leases) n (run, lease)
    join runs r on r.id = n.run
   where r.lease_id = n.lease;
end
$$;
