-- What is due to be said of the open approvals of the given runs is said: a reminder, or that further people may decide
-- now, which is an act of its own and so in the audit. Nothing is decided and no worker is woken. The caller has locked the
-- runs and settled what is overdue.
create or replace function remind_approvals(p_ids uuid[], p_moment timestamptz) returns setof uuid
language plpgsql volatile as $$
declare
  due        uuid[];
  reminding  uuid[];
  escalating uuid[];
begin
  select array_agg(a.id order by a.id),
         array_agg(a.id order by a.id) filter (where a.remind_at <= p_moment),
         array_agg(a.id order by a.id) filter (where a.escalate_at <= p_moment)
    into due, reminding, escalating
    from tool_calls c
    join approvals a on a.id = c.approval_id
   where c.run_id = any (p_ids) and c.waits_on in ('approval', 'outcome') and c.notice_at <= p_moment;
  if due is null then
    return;
  end if;

  update approvals a
     set reminded_at  = case when a.remind_at <= p_moment then p_moment else a.reminded_at end,
         remind_at    = case when a.remind_at > p_moment then a.remind_at end,
         escalated_at = case when a.escalate_at <= p_moment then p_moment else a.escalated_at end,
         escalate_at  = case when a.escalate_at > p_moment then a.escalate_at end
   where a.id = any (due);

  update tool_calls c
     set notice_at = least(a.remind_at, a.escalate_at)
    from approvals a
   where a.id = any (due) and c.id = a.call_id;

  -- Whoever watches the queue looks at the card again.
  update tasks t set changed = pg_current_xact_id() from approvals a where a.id = any (due) and t.id = a.task_id;

  insert into audit (workspace_id, actor, action, run_id, call_id, subject, details)
  select a.workspace_id, 'system:timer', 'approval.escalated', a.run_id, a.call_id, a.id::text,
         json_build_object('to', a.approver_rule -> 'escalation' -> 'to')
    from approvals a
   where a.id = any (escalating);

  insert into run_log (run_id, seq, kind, call_id, actor, content)
  select a.run_id, r.last_seq + row_number() over (partition by a.run_id order by k.kind desc, a.id), k.kind, a.call_id,
         'system:timer', to_json(c.tool)::text
    from (select unnest(reminding) as id, 'approval.reminded' as kind
           union all
          select unnest(escalating), 'approval.escalated') k
    join approvals a  on a.id = k.id
    join tool_calls c on c.id = a.call_id
    join runs r       on r.id = a.run_id;

  perform note_runs(array_agg(x.run), array_agg(x.lines))
     from (select a.run_id, count(*)::int
             from unnest(reminding || escalating) k (id)
             join approvals a on a.id = k.id
            group by a.run_id) x (run, lines);

  return query select distinct a.run_id from approvals a where a.id = any (due);
end
$$;
