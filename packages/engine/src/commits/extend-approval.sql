-- A pending approval waits longer: whoever may decide it moves its deadline to a later moment, with the call's own, and the
-- reminder goes before the new one. What is asked stays the same, so its version does; the audit says who gave it the time.
-- From the deadline on nothing is extended: that answer is final.
create or replace function extend_approval(
  p_runs uuid[], p_approvals uuid[], p_workspaces uuid[], p_users uuid[], p_untils text[], p_ways text[], p_blocking boolean
) returns table (run_id uuid, outcome text, status text, expires_at timestamptz)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked    uuid[] := lock_runs(p_runs, p_blocking);
  moment    timestamptz := clock_timestamp();
  approvals uuid[];
  outcomes  text[];
  deadlines timestamptz[];
  extending uuid[];
begin
  select array_agg(n.approval), array_agg(v.outcome), array_agg(a.expires_at), array_agg(n.approval) filter (where v.outcome = 'extended')
    into approvals, outcomes, deadlines, extending
    from unnest(p_runs, p_approvals, p_workspaces, p_users, p_untils) n (run, approval, workspace, extender, until)
    join policy_of(locked) p on p.run_id = n.run
    left join approvals a    on a.id = n.approval and a.run_id = n.run and a.workspace_id = n.workspace
   cross join lateral (
         select case
                  when a.id is null                                           then 'not_found'
                  when say_of(a.id, n.extender) is null                       then 'forbidden'
                  when a.status = 'expired'                                   then 'expired'
                  when a.status <> 'pending'                                  then 'settled'
                  when p.killed is not null                                   then 'killed'
                  when a.expires_at is null                                   then 'never_expires'
                  when greatest(a.expires_at, p.expires_not_before) <= moment then 'expired'
                  when n.until::timestamptz <= a.expires_at                   then 'not_later'
                  else 'extended'
                end as outcome) v;

  update approvals a
     set expires_at = n.until::timestamptz,
         remind_at  = k.remind_at
    from unnest(p_approvals, p_untils) n (approval, until)
    join approvals b on b.id = n.approval
   cross join lateral (
         select n.until::timestamptz - (b.approver_rule ->> 'remindBeforeMs')::bigint * interval '1 millisecond' as remind_at) k
   where a.id = n.approval and a.id = any (extending);

  update tool_calls c
     set wait_until = a.expires_at, notice_at = least(a.remind_at, a.escalate_at)
    from approvals a
   where a.id = any (extending) and c.id = a.call_id;

  -- Whoever watches the queue looks at the card again.
  update tasks t set changed = pg_current_xact_id() from approvals a where a.id = any (extending) and t.id = a.task_id;

  insert into run_log (run_id, seq, kind, call_id, actor, content)
  select a.run_id, r.last_seq + 1, 'approval.extended', a.call_id, 'user:' || n.extender, to_json(c.tool)::text
    from unnest(p_approvals, p_users) n (approval, extender)
    join approvals a  on a.id = n.approval
    join tool_calls c on c.id = a.call_id
    join runs r       on r.id = a.run_id
   where a.id = any (extending);

  insert into audit (workspace_id, actor, action, run_id, call_id, subject, details)
  select n.workspace, 'user:' || n.extender,
         'approval.' || case k.outcome when 'extended' then 'extended' else 'extension_refused' end,
         n.run, a.call_id, n.approval::text,
         json_build_object('outcome', k.outcome, 'from', k.deadline, 'until', n.until, 'way', n.way)
    from unnest(p_runs, p_approvals, p_workspaces, p_users, p_untils, p_ways) n (run, approval, workspace, extender, until, way)
    join unnest(approvals, outcomes, deadlines) k (approval, outcome, deadline) on k.approval = n.approval
    join approvals a on a.id = n.approval
   where k.outcome in ('extended', 'forbidden', 'expired');

  perform note_runs(array_agg(a.run_id), array_agg(1)) from approvals a where a.id = any (extending);

  return query
  select n.run, k.outcome, a.status, a.expires_at
    from unnest(p_runs, p_approvals) n (run, approval)
    join unnest(approvals, outcomes) k (approval, outcome) on k.approval = n.approval
    left join approvals a on a.id = n.approval and k.outcome <> 'not_found';
end
$$;
