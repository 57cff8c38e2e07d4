-- The switch of a tool or a server goes on, in a workspace or (nil) everywhere: its calls are denied until it is lifted.
-- The policy version of the scope moves, so that none that was judged before begins; workers judge the open approvals of
-- the tools it covers again.
create or replace function kill_tool(
  p_kind text, p_name text, p_workspace uuid, p_user uuid, p_way text, p_reason text, p_covers text
) returns table (outcome text, waiting int)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  place uuid := coalesce(p_workspace, '00000000-0000-0000-0000-000000000000');
  scope text := case when p_workspace is null then 'app' else 'workspace' end;
begin
  perform lock_scope(scope, place, p_workspace);

  insert into tool_switches (scope_id, kind, name, killed_by, reason) values (place, p_kind, p_name, p_user, p_reason)
      on conflict do nothing;
  if not found then
    return query select 'already', 0;
    return;
  end if;

  perform move_policies(array[scope], array[place], array[p_workspace], array[p_covers]);
  insert into audit (workspace_id, actor, action, subject, details)
  values (place, 'user:' || p_user, 'scope.killed', p_kind || ':' || p_name, json_build_object('reason', p_reason, 'way', p_way));

  return query select 'killed', count_waiting(scope, place, p_workspace, p_covers);
end
$$;
