-- The switch of a tool or a server goes off: its calls are judged by the rest of the table again.
create or replace function lift_tool(p_kind text, p_name text, p_workspace uuid, p_user uuid, p_way text, p_reason text, p_covers text)
returns table (outcome text)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  place uuid := coalesce(p_workspace, '00000000-0000-0000-0000-000000000000');
  scope text := case when p_workspace is null then 'app' else 'workspace' end;
begin
  perform lock_scope(scope, place, p_workspace);

  delete from tool_switches t where t.scope_id = place and t.kind = p_kind and t.name = p_name;
  if not found then
    return query select 'already';
    return;
  end if;

  perform move_policies(array[scope], array[place], array[p_workspace], array[p_covers]);
  insert into audit (workspace_id, actor, action, subject, details)
  values (place, 'user:' || p_user, 'scope.lifted', p_kind || ':' || p_name,
          json_strip_nulls(json_build_object('reason', p_reason, 'way', p_way)));

  return query select 'lifted';
end
$$;
