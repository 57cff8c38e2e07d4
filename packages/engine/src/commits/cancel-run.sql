-- Anything live → canceled, for the run and every descendant in one commit: whoever holds one is fenced, what was open
-- under them closes with its card. A run that has ended stays as it ended, and the caller is told how.
create or replace function cancel_run(p_runs uuid[], p_workspaces uuid[], p_users uuid[], p_reasons text[], p_blocking boolean)
returns table (run_id uuid, outcome text, canceled int)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  tree   uuid[] := lock_tree(p_runs[1], p_workspaces[1], p_blocking);
  ending uuid[];
begin
  -- Somebody holds a part of the tree: without an answer the caller asks again, prepared to wait.
  if tree is null then
    return;
  end if;

  select array_agg(r.id) into ending
    from runs r
   where r.id = any (tree) and r.status not in ('completed', 'failed', 'canceled');

  perform end_runs(ending, 'canceled', array_fill(n.reason, array[cardinality(ending)]), 'canceled')
     from unnest(p_reasons) n (reason)
    where ending is not null
    limit 1;

  insert into audit (workspace_id, actor, action, run_id, subject)
  select n.workspace, 'user:' || n.canceler, 'run.canceled', r.id, n.reason
    from unnest(p_workspaces, p_users, p_reasons) n (workspace, canceler, reason)
   cross join unnest(ending) r (id);

  return query
  select n.run, case when r.id is null then 'not_found' when r.id = any (ending) then 'canceled' else r.status end,
         coalesce(cardinality(ending), 0)
    from unnest(p_runs, p_workspaces) n (run, workspace)
    left join runs r on r.id = n.run and r.workspace_id = n.workspace;
end
$$;
