-- Of the given runs, which the caller has locked, those that were claimed so often without progress stop until a person
-- looks at them; returns these.
create or replace function quarantine_runs(p_ids uuid[], p_max_claims int) returns uuid[]
language plpgsql volatile as $$
declare
  stopped uuid[];
begin
  with stopping as (
    update runs r
       set quarantined_at = clock_timestamp()
     where r.id = any (p_ids) and r.claims_without_progress >= p_max_claims
    returning r.id, r.workspace_id, r.claims_without_progress),
  audited as (
    insert into audit (workspace_id, actor, action, run_id, details)
    select s.workspace_id, 'system:recovery', 'run.quarantined', s.id, json_build_object('claimsWithoutProgress', s.claims_without_progress)
      from stopping s)
  select array_agg(s.id) into stopped from stopping s;
  if stopped is null then
    return '{}';
  end if;

  update runs r
     set status   = s.status,
         waits_on = s.waits_on,
         wake_at  = s.wake_at,
         changed  = pg_current_xact_id(),
         ready_at = null
    from run_state(stopped) s
   where r.id = s.run_id;
  return stopped;
end
$$;
