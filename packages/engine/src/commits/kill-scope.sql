-- The switch goes on for a scope (app, workspace, definition or run): its policy version moves and an audit row says who
-- and why. Nothing is written per run: claim, decide, expire and begin look the switch up, and a commit that is about to
-- start an effect holds its policy still, so that this waits for those that are just at it and no further one passes. A scope of another workspace is not found.
create or replace function kill_scope(p_scope text, p_scope_id uuid, p_workspace uuid, p_user uuid, p_way text, p_reason text)
returns table (outcome text)
language plpgsql volatile as $$
#variable_conflict use_column
begin
  perform lock_runs(array[p_scope_id], true);

  if not coalesce(case p_scope
                    when 'app'        then p_workspace is null and p_scope_id = '00000000-0000-0000-0000-000000000000'
                    when 'workspace'  then p_workspace = p_scope_id
                    when 'definition' then exists (select 1 from definitions d where d.id = p_scope_id and d.workspace_id = p_workspace)
                    when 'run'        then exists (select 1 from runs r where r.id = p_scope_id and r.workspace_id = p_workspace)
                  end, false) then
    return query select 'not_found';
    return;
  end if;

  if p_scope <> 'run' then
    perform seize_policies(array[p_scope_id]);
  end if;

  insert into policies as p (scope_id, scope, workspace_id, killed_at, killed_by, kill_reason)
  values (p_scope_id, p_scope, p_workspace, clock_timestamp(), p_user, p_reason)
      on conflict (scope_id) do update
     set version = p.version + 1, killed_at = clock_timestamp(), killed_by = p_user, kill_reason = p_reason
   where p.killed_at is null;

  if not found then
    return query select 'already';
    return;
  end if;

  insert into audit (workspace_id, actor, action, subject, details)
  values (coalesce(p_workspace, '00000000-0000-0000-0000-000000000000'), 'user:' || p_user, 'scope.killed', p_scope || ':' || p_scope_id,
          json_strip_nulls(json_build_object('reason', p_reason, 'way', p_way)));
  return query select 'killed';
end
$$;
