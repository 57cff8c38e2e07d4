-- Writes an approval and its card for each given call. The caller has made the calls wait (`approval_id`, `wait_until`)
-- and derives the run's status from that in its last statement, so approval, card and paused status appear together. Who
-- may decide, and when they are reminded, is what the run's version of its definition says.
create or replace function open_approvals(p_calls uuid[], p_tasks uuid[], p_titles text[], p_cards text[]) returns void
language plpgsql volatile as $$
begin
  with asked as (
    insert into approvals (id, workspace_id, run_id, call_id, task_id, kind, status, args_hash, definition_hash,
                           policy_versions, gate_row, gate_reason, card, expires_at, approver_rule, remind_at, escalate_at)
    select c.approval_id, r.workspace_id, r.id, c.id, n.task_id, c.waits_on, 'pending', coalesce(c.run_args_hash, c.args_hash), c.definition_hash,
           c.policy_versions, c.gate_row, c.gate_reason, n.card, c.wait_until, v.approvers,
           c.wait_until - (v.approvers ->> 'remindBeforeMs')::bigint * interval '1 millisecond',
           clock_timestamp() + (v.approvers -> 'escalation' ->> 'afterMs')::bigint * interval '1 millisecond'
      from unnest(p_calls, p_tasks, p_cards) n (call_id, task_id, card)
      join tool_calls c on c.id = n.call_id and c.id = any (p_calls)
     cross join lateral (select * from runs o where o.id = c.run_id limit 1) r
      left join definition_versions v on v.definition_id = r.definition_id and v.version = r.definition_version
    returning call_id, least(remind_at, escalate_at) as notice_at)
  update tool_calls c
     set notice_at = a.notice_at
    from asked a
   where c.id = a.call_id and c.id = any (p_calls) and c.notice_at is distinct from a.notice_at;

  insert into tasks (id, workspace_id, kind, status, section, title, run_id, approval_id, page_id, node_id, created_by)
  select n.task_id, r.workspace_id, c.waits_on, 'open', 'needs-confirm', n.title, r.id, c.approval_id, r.page_id, r.node_id,
         'run:' || r.id
    from unnest(p_calls, p_tasks, p_titles) n (call_id, task_id, title)
    join tool_calls c on c.id = n.call_id and c.id = any (p_calls)
   cross join lateral (select * from runs o where o.id = c.run_id limit 1) r;

  -- Judged under a policy that has moved since, perhaps while the model thought: the next sweep judges it again.
  insert into policy_changes (scope_id, workspace_id, tools)
  select r.id, r.workspace_id, array_agg(distinct c.tool)
    from tool_calls c
   cross join lateral (select * from runs o where o.id = c.run_id limit 1) r
   cross join lateral policy_of(array[c.run_id]) p
   where c.id = any (p_calls) and c.waits_on = 'approval' and c.policy_versions <> p.versions
   group by r.id, r.workspace_id;
end
$$;
