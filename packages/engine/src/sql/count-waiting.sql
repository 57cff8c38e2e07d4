-- How many open approvals of a scope are of the given tools (all where null): those that a change of its policy touches.
-- Counts up to 1,001, which stands for more than 1,000.
create or replace function count_waiting(p_scope text, p_scope_id uuid, p_workspace uuid, p_covers text) returns int
language sql stable as $$
  select count(*)::int
    from (select 1
            from approvals a
            join tool_calls c on c.id = a.call_id
            join runs r       on r.id = a.run_id
           where a.status = 'pending' and a.kind = 'approval'
             and (p_workspace is null or a.workspace_id = p_workspace)
             and (p_scope <> 'run' or a.run_id = p_scope_id)
             and (p_scope <> 'definition' or r.definition_id = p_scope_id)
             and (p_covers is null or c.tool = any (string_to_array(p_covers, ',')))
           limit 1001) w
$$;
