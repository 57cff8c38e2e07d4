-- Ends runs that did not complete: the run row reaches its last status, and everything still open under it closes.
-- Calls that never claimed an effect are canceled with p_code; those that did stay `unknown` without a card, since nobody
-- is left to use the answer. The epoch moves, so a worker that is still at it is fenced.
create or replace function end_runs(p_ids uuid[], p_status text, p_reasons text[], p_code text) returns void
language plpgsql volatile as $$
declare
  moment timestamptz := clock_timestamp();
begin
  update approvals a
     set status = 'canceled', version = a.version + 1, decided_at = moment, settled_reason = n.reason
    from unnest(p_ids, p_reasons) n (run, reason)
    join tool_calls c on c.run_id = n.run and c.waits_on in ('approval', 'outcome')
   where a.id = c.approval_id and a.status = 'pending';

  update questions q
     set status = 'canceled', answered_at = moment
    from tool_calls c
   where c.run_id = any (p_ids) and c.waits_on = 'question' and q.id = c.question_id and q.status = 'open';

  update tasks t
     set status = 'canceled', resolved_at = moment, resolved_by = 'system', resolution = n.reason
    from unnest(p_ids, p_reasons) n (run, reason)
    join tool_calls c     on c.run_id = n.run and c.waits_on is not null
    left join approvals a on a.id = c.approval_id
    left join questions q on q.id = c.question_id
   where t.id = coalesce(a.task_id, q.task_id) and t.status = 'open';

  update tool_calls c
     set status      = case when k.may_have_happened then 'unknown' else 'canceled' end,
         waits_on    = null,
         wait_until  = null,
         finished_at = case when not k.may_have_happened then moment end,
         result      = coalesce(c.result, to_json(n.reason)::text),
         result_code = case when k.may_have_happened then 'unknown' else p_code end
    from unnest(p_ids, p_reasons) n (run, reason)
   cross join lateral (
         select t.id, t.status = 'unknown' or t.has_effect_claim as may_have_happened
           from tool_calls t
          where t.run_id = n.run and (t.status in ('requested', 'waiting', 'executing') or t.waits_on is not null)) k
   where c.id = k.id;

  update steers s set closed_at = moment where s.run_id = any (p_ids) and s.read_seq is null;

  delete from deltas d where d.run_id = any (p_ids);

  insert into run_log (run_id, seq, kind, content)
  select r.id, r.last_seq + 1, 'run.ended', to_json(p_status || ': ' || n.reason)::text
    from unnest(p_ids, p_reasons) n (run, reason)
    join runs r on r.id = n.run;

  update runs r
     set status = p_status, end_reason = n.reason, finished_at = moment, last_seq = r.last_seq + 1, epoch = r.epoch + 1, unread = 0,
         waits_on = null, parked_on = null, quarantined_at = null, ready_at = null, wake_at = null, lease_id = null, lease_until = null,
         worked_ms = r.worked_ms + case when r.lease_id is null then 0
                                        else (extract(epoch from moment - r.claimed_at) * 1000)::bigint end
    from unnest(p_ids, p_reasons) n (run, reason)
   where r.id = n.run;
end
$$;
