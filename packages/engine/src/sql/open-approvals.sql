-- Writes an approval and its card for each given call. The caller has made the calls wait (`approval_id`, `wait_until`)
-- and derives the run's status from that in its last statement, so approval, card and paused status appear together.
create or replace function open_approvals(p_calls uuid[], p_tasks uuid[], p_titles text[], p_cards text[]) returns void
language plpgsql volatile as $$
begin
  insert into approvals (id, workspace_id, run_id, call_id, task_id, kind, status, args_hash, definition_hash,
                         policy_versions, gate_row, gate_reason, card, expires_at)
  select c.approval_id, r.workspace_id, r.id, c.id, n.task_id, c.waits_on, 'pending', c.args_hash, c.definition_hash,
         c.policy_versions, c.gate_row, c.gate_reason, n.card, c.wait_until
    from unnest(p_calls, p_tasks, p_cards) n (call_id, task_id, card)
    join tool_calls c on c.id = n.call_id
    join runs r on r.id = c.run_id;

  insert into tasks (id, workspace_id, kind, status, section, title, run_id, approval_id, page_id, node_id, created_by)
  select n.task_id, r.workspace_id, c.waits_on, 'open', 'needs-confirm', n.title, r.id, c.approval_id, r.page_id, r.node_id,
         'run:' || r.id
    from unnest(p_calls, p_tasks, p_titles) n (call_id, task_id, title)
    join tool_calls c on c.id = n.call_id
    join runs r on r.id = c.run_id;
end
$$;
