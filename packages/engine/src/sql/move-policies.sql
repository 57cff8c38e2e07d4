-- The policy version of each given scope moves, in the lock order of every commit, and workers are told which tools' open
-- approvals to judge again.
--   p_covers: the tools a change touches, with commas; null where that is every tool.
create or replace function move_policies(p_scopes text[], p_scope_ids uuid[], p_workspaces uuid[], p_covers text[]) returns void
language plpgsql volatile as $$
begin
  perform seize_policies(array(
    select n.scope_id
      from unnest(p_scopes, p_scope_ids) n (scope, scope_id)
     where n.scope <> 'run'
     group by n.scope, n.scope_id
     order by array_position(array['app', 'workspace', 'definition'], n.scope), n.scope_id));

  insert into policies as p (scope_id, scope, workspace_id)
  select s.scope_id, s.scope, s.workspace
    from (select distinct n.scope_id, n.scope, n.workspace from unnest(p_scopes, p_scope_ids, p_workspaces) n (scope, scope_id, workspace)) s
   order by array_position(array['app', 'workspace', 'definition', 'run'], s.scope), s.scope_id
      on conflict (scope_id) do update
     set version = p.version + 1;

  insert into policy_changes (scope_id, workspace_id, tools)
  select n.scope_id, n.workspace,
         case when bool_or(n.covers is null) then null
              else (select array_agg(distinct t.tool) from unnest(string_to_array(string_agg(n.covers, ','), ',')) t (tool)) end
    from unnest(p_scope_ids, p_workspaces, p_covers) n (scope_id, workspace, covers)
   group by n.scope_id, n.workspace;
end
$$;
