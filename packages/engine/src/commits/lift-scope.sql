-- The switch goes off: what was held goes on by itself, and nothing that came due meanwhile expires for another 15
-- minutes, so that people find their cards as they left them.
create or replace function lift_scope(p_scope text, p_scope_id uuid, p_workspace uuid, p_user uuid, p_way text, p_reason text)
returns table (outcome text)
language plpgsql volatile as $$
#variable_conflict use_column
begin
  perform lock_runs(array[p_scope_id], true);
  perform seize_policies(array[p_scope_id]);

  update policies p
     set version = p.version + 1, killed_at = null, lifted_at = clock_timestamp()
   where p.scope_id = p_scope_id and p.scope = p_scope and p.killed_at is not null and p.workspace_id is not distinct from p_workspace;

  if not found then
    return query select 'already';
    return;
  end if;

  -- What came to wait before the switch went on is judged by what policy says now.
  insert into policy_changes (scope_id, workspace_id) values (p_scope_id, p_workspace);

  insert into audit (workspace_id, actor, action, subject, details)
  values (coalesce(p_workspace, '00000000-0000-0000-0000-000000000000'), 'user:' || p_user, 'scope.lifted', p_scope || ':' || p_scope_id,
          json_strip_nulls(json_build_object('reason', p_reason, 'way', p_way)));
  return query select 'lifted';
end
$$;
