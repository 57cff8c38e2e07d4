-- Quarantined → as its calls stand, with its claims counted from none: a person has looked at it. Decisions and answers
-- that were given meanwhile left nothing ready, so whatever is left to do is ready now.
create or replace function resume_run(p_runs uuid[], p_workspaces uuid[], p_users uuid[], p_blocking boolean)
returns table (run_id uuid, outcome text)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  locked  uuid[] := lock_runs(p_runs, p_blocking);
  resumed uuid[];
begin
  with resuming as (
    update runs r
       set quarantined_at = null, claims_without_progress = 0
      from unnest(p_runs, p_workspaces, p_users) n (run, workspace, resumer)
     where r.id = n.run and r.id = any (locked) and r.workspace_id = n.workspace and r.quarantined_at is not null
    returning r.id, r.workspace_id, n.resumer),
  audited as (
    insert into audit (workspace_id, actor, action, run_id)
    select s.workspace_id, 'user:' || s.resumer, 'run.resumed', s.id from resuming s)
  select array_agg(s.id) into resumed from resuming s;

  update runs r
     set status   = s.status,
         waits_on = s.waits_on,
         wake_at  = s.wake_at,
         changed  = pg_current_xact_id(),
         ready_at = case when not s.is_idle then clock_timestamp() end
    from run_state(resumed) s
   where r.id = s.run_id;

  return query
  select r.id, case when r.workspace_id is distinct from n.workspace            then 'not_found'
                    when r.id = any (resumed)                                   then 'resumed'
                    when r.status in ('completed', 'failed', 'canceled')        then r.status
                    else 'not_quarantined'
               end
    from unnest(p_runs, p_workspaces) n (run, workspace)
    join runs r on r.id = n.run
   where r.id = any (locked);
end
$$;
