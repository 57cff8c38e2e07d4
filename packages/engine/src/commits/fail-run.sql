-- Running → failed, with its reason (an error, a limit, `blocked_by_approval`). Everything still open under it closes in
-- the same commit. Never refused for an unread steer: such steers close as having come too late.
create or replace function fail_run(p_runs uuid[], p_epochs bigint[], p_leases uuid[], p_reasons text[], p_blocking boolean)
returns table (run_id uuid, outcome text)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked uuid[] := lock_runs(p_runs, p_blocking);
  ids    uuid[];
begin
  select array_agg(r.id) into ids
    from unnest(p_runs, p_epochs, p_leases) n (run, epoch, lease)
    join runs r on r.id = n.run and r.epoch = n.epoch and r.lease_id = n.lease
   where r.id = any (locked);

  perform end_runs(array_agg(n.run), 'failed', array_agg(n.reason), 'sibling_failed')
     from unnest(p_runs, p_reasons) n (run, reason)
    where n.run = any (ids);

  return query
  select n.run, case when n.run = any (ids) then 'failed' else 'lease_lost' end
    from unnest(p_runs) n (run)
   where n.run = any (locked);
end
$$;
