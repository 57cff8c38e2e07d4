-- Waiting → expired, for up to p_limit runs whose time has come: an overdue approval is `expired` and its call denied,
-- an overdue question gives its default as the result; cards say so, and the runs are ready. Under a kill switch nothing
-- expires: the run is only looked at again later. Each row is judged again under its lock, so a second sweeper with an
-- old list does nothing. Approvals whose time has not come, but that of a reminder or an escalation, are reminded or
-- escalated. Returns the runs that were looked at, with how many of their waits expired; null where nothing was said of a run.
--   p_only: null, or the only runs to consider (a batch that failed is retried one by one).
create or replace function expire_waits(p_limit int, p_only uuid[])
returns table (run_id uuid, expired int)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  moment    timestamptz;
  due       uuid[];
  overdue   uuid[];
  reminded  uuid[];
begin
  select array_agg(l.id) into due
    from (select r.id
            from runs r
           where r.wake_at <= clock_timestamp() and (p_only is null or r.id = any (p_only))
           order by r.wake_at
           limit p_limit
             for no key update skip locked) l;
  if due is null then
    return;
  end if;
  moment := clock_timestamp();

  select array_agg(c.id) into overdue
    from policy_of(due) p
    join tool_calls c on c.run_id = p.run_id
   where p.killed is null
     and c.waits_on in ('approval', 'question')
     -- `greatest` passes over a null: a wait without a deadline must not take the one that a lift gave.
     and c.wait_until is not null
     and greatest(c.wait_until, p.expires_not_before) <= moment;

  update approvals a
     set status = 'expired', version = a.version + 1, decided_at = moment, settled_reason = 'system:timeout'
    from tool_calls c
   where c.id = any (overdue) and c.waits_on = 'approval' and a.id = c.approval_id;

  update questions q
     set status = 'expired', answered_at = moment, answer = q.default_answer
    from tool_calls c
   where c.id = any (overdue) and c.waits_on = 'question' and q.id = c.question_id;

  update tasks t
     set status = 'expired', resolved_at = moment, resolved_by = 'system:timeout',
         resolution = case when q.id is null then 'expired' else 'expired; the default was used: ' || coalesce(q.default_answer, 'none') end
    from tool_calls c
    left join approvals a on a.id = c.approval_id and c.waits_on = 'approval'
    left join questions q on q.id = c.question_id and c.waits_on = 'question'
   where c.id = any (overdue) and t.id = coalesce(a.task_id, q.task_id);

  insert into run_log (run_id, seq, kind, call_id, actor, content)
  select c.run_id, r.last_seq + row_number() over (partition by c.run_id order by c.position),
         c.waits_on || '.expired', c.id, 'system:timeout', to_json(c.tool)::text
    from tool_calls c
    join runs r on r.id = c.run_id
   where c.id = any (overdue);

  update tool_calls c
     set status      = case c.waits_on when 'approval' then 'denied' else 'done' end,
         result      = case c.waits_on when 'approval' then to_json('not run: nobody decided before the approval expired'::text)::text
                                       else to_json(coalesce((select q.default_answer from questions q where q.id = c.question_id),
                                                             'nobody answered in time'))::text end,
         result_code = case c.waits_on when 'approval' then 'expired' end,
         waits_on    = null,
         wait_until  = null,
         finished_at = moment
   where c.id = any (overdue);

  perform wake_runs(array_agg(x.run), array_agg(x.lines))
     from (select c.run_id, count(*)::int from tool_calls c where c.id = any (overdue) group by c.run_id) x (run, lines);

  select array_agg(m) into reminded
    from remind_approvals(array(select p.run_id from policy_of(due) p where p.killed is null), moment) m;

  -- Held by a kill switch, or given more time by a lift: look again when it can matter. A lift gives longer than a switch
  -- is passed over.
  update runs r
     set wake_at = greatest(p.expires_not_before, moment + case when p.killed is null then interval '1 minute' else interval '10 minutes' end)
    from policy_of(due) p
   where r.id = p.run_id and r.wake_at <= moment;

  return query
  select x.run, sum(x.expired)::int
    from (select c.run_id, 1 from tool_calls c where c.id = any (overdue)
           union all
          select m, 0 from unnest(reminded) m
           union all
          select d, null from unnest(due) d) x (run, expired)
   group by x.run;
end
$$;
