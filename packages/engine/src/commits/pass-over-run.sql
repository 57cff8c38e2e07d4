-- Ready → ready a while later, or quarantined: a run whose own rows make its claim fail was claimed without progress, and is
-- in nobody's way until the next try, later each time. Nothing happens where it is not ready or is held by now.
create or replace function pass_over_run(p_run uuid, p_max_claims int, p_wait_ms bigint)
returns table (run_id uuid, outcome text)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  passed uuid[];
begin
  select array_agg(l.id) into passed
    from (select r.id
            from runs r
           where r.id = p_run and r.lease_id is null and r.ready_at <= clock_timestamp()
             for no key update skip locked) l;
  if passed is null then
    return;
  end if;

  update runs r
     set claims_without_progress = r.claims_without_progress + 1,
         ready_at                = clock_timestamp() + (r.claims_without_progress + 1) * p_wait_ms * interval '1 millisecond'
   where r.id = any (passed);

  return query
  select p_run, case when quarantine_runs(passed, p_max_claims) = '{}' then 'waits' else 'quarantined' end;
end
$$;
