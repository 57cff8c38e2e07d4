-- "Allow for this run" and "always allow": the rule that a decision leaves behind, written in the decision's own commit,
-- after the approval was settled and under the locks of its runs. One element per decision that remembers something.
--   p_rules:        new ids, one per rule.
--   p_scopes:       run, definition or workspace; whoever decides must have been found entitled to that scope.
--   p_target_kinds, p_target_names: null for the tool of the call.
--   p_entries:      JSON, what the person allowed of the tool; null for all of it.
--   p_covers:       the tools that a family or server covers, with commas; null for the tool of the call.
--   p_expires_ms:   how long the rule holds; null for ever.
create or replace function remember_rules(
  p_rules uuid[], p_approvals uuid[], p_scopes text[], p_target_kinds text[], p_target_names text[], p_entries text[],
  p_covers text[], p_expires_ms bigint[], p_users uuid[], p_way text
) returns void
language plpgsql volatile as $$
begin
  perform write_rules(
            array_agg(n.rule order by n.rule), array_agg(n.scope order by n.rule),
            array_agg(case n.scope when 'run' then r.id when 'definition' then r.definition_id else r.workspace_id end order by n.rule),
            array_agg(r.workspace_id order by n.rule),
            array_agg(coalesce(n.target_kind, 'tool') order by n.rule), array_agg(coalesce(n.target_name, c.tool) order by n.rule),
            array_agg('allow'::text order by n.rule), array_agg(false order by n.rule), array_agg(n.entries order by n.rule),
            array_agg(true order by n.rule), array_agg(c.definition_hash order by n.rule),
            array_agg(clock_timestamp() + n.expires_ms * interval '1 millisecond' order by n.rule),
            array_agg(coalesce(n.covers, c.tool) order by n.rule), array_agg(a.id order by n.rule),
            array_agg(n.user_id order by n.rule), p_way)
     from unnest(p_rules, p_approvals, p_scopes, p_target_kinds, p_target_names, p_entries, p_covers, p_expires_ms, p_users)
          n (rule, approval, scope, target_kind, target_name, entries, covers, expires_ms, user_id)
     join approvals a  on a.id = n.approval
     join tool_calls c on c.id = a.call_id
     join runs r       on r.id = a.run_id
   having count(*) > 0;
end
$$;
