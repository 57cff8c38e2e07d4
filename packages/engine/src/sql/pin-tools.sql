-- A person who approves a call of a tool that has changed, or allows a tool beyond one run, has agreed to its definition as
-- the call has it: that is the one of the workspace from now on. Where it was another the workspace's policy version moves.
-- The caller holds the runs of the approvals and, in the lock order of every commit, the policies of no scope yet: those of
-- the workspaces are taken here, whether or not anything changes.
create or replace function pin_tools(p_approvals uuid[]) returns void
language plpgsql volatile as $$
declare
  changing uuid[];
begin
  perform seize_policies(array(select distinct a.workspace_id from approvals a where a.id = any (p_approvals) order by 1));

  select array_agg(a.id) into changing
    from approvals a
    join tool_calls c on c.id = a.call_id
    left join tool_pins t on t.workspace_id = a.workspace_id and t.tool = c.tool
   where a.id = any (p_approvals) and c.definition_hash is distinct from t.definition_hash;
  if changing is null then
    return;
  end if;

  perform move_policies(array_agg('workspace'::text), array_agg(a.workspace_id), array_agg(a.workspace_id), array_agg(c.tool))
     from approvals a
     join tool_calls c on c.id = a.call_id
    where a.id = any (changing);

  insert into tool_pins as t (workspace_id, tool, definition_hash, pinned_by, approval_id)
  select distinct on (a.workspace_id, c.tool) a.workspace_id, c.tool, c.definition_hash, a.decided_by, a.id
    from approvals a
    join tool_calls c on c.id = a.call_id
   where a.id = any (changing)
   order by a.workspace_id, c.tool, a.id desc
      on conflict (workspace_id, tool) do update
     set definition_hash = excluded.definition_hash, pinned_at = clock_timestamp(), pinned_by = excluded.pinned_by,
         approval_id = excluded.approval_id;

  insert into audit (workspace_id, actor, action, run_id, call_id, subject, details)
  select a.workspace_id, 'user:' || a.decided_by, 'tool.pinned', a.run_id, a.call_id, c.tool,
         json_build_object('definitionHash', c.definition_hash, 'approval', a.id)
    from approvals a
    join tool_calls c on c.id = a.call_id
   where a.id = any (changing);
end
$$;
