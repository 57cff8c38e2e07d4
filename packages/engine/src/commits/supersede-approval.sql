-- Pending → superseded, when policy moved on and the call, gated again, is now allowed, denied, or asked for another
-- reason. The old card closes; the call goes on, is denied, or waits on a new approval and card, in one commit. An
-- approval that would be asked just the same only notes the versions it was judged under. An outcome is no matter of
-- policy: what became of an effect only a person can say.
create or replace function supersede_approval(
  p_runs uuid[], p_approvals uuid[], p_seen_versions text[], p_verdicts text[], p_rows text[], p_reasons text[], p_versions text[],
  p_results text[], p_codes text[], p_new_approvals uuid[], p_tasks uuid[], p_titles text[], p_cards text[], p_expires_ms bigint[],
  p_blocking boolean
) returns table (run_id uuid, outcome text)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked uuid[] := lock_runs(p_runs, p_blocking);
  moment timestamptz := clock_timestamp();
  kept   uuid[];
  moving uuid[];
  asked  uuid[];
begin
  with noted as (
    update approvals a
       set policy_versions = n.versions
      from unnest(p_approvals, p_seen_versions, p_verdicts, p_versions) n (approval, seen, verdict, versions)
     where a.id = n.approval and a.run_id = any (locked) and a.kind = 'approval' and a.status = 'pending'
       and a.policy_versions = n.seen and n.verdict = 'keep'
    returning a.id)
  select array_agg(id) into kept from noted;

  with superseded as (
    update approvals a
       set status = 'superseded', version = a.version + 1, decided_at = moment, settled_reason = n.reason
      from unnest(p_approvals, p_seen_versions, p_verdicts, p_reasons) n (approval, seen, verdict, reason)
     where a.id = n.approval and a.run_id = any (locked) and a.kind = 'approval' and a.status = 'pending'
       and a.policy_versions = n.seen and n.verdict <> 'keep'
    returning a.id, a.task_id, a.settled_reason),
  closed as (
    update tasks t
       set status = 'canceled', resolved_at = moment, resolved_by = 'system:policy', resolution = s.settled_reason
      from superseded s
     where t.id = s.task_id)
  select array_agg(s.id) into moving from superseded s;

  update tool_calls c
     set status          = case n.verdict when 'allow' then 'requested' when 'deny' then 'denied' else 'waiting' end,
         verdict         = n.verdict, gate_row = n.gate_row, gate_reason = n.reason, policy_versions = n.versions,
         approval_id     = n.new_approval,
         waits_on        = case n.verdict when 'ask' then 'approval' end,
         wait_until      = case n.verdict when 'ask' then moment + n.expires_ms * interval '1 millisecond' end,
         result          = n.result,
         result_code     = n.code,
         finished_at     = case n.verdict when 'deny' then moment end
    from unnest(p_approvals, p_verdicts, p_rows, p_reasons, p_versions, p_results, p_codes, p_new_approvals, p_expires_ms)
         n (approval, verdict, gate_row, reason, versions, result, code, new_approval, expires_ms)
    join approvals a on a.id = n.approval
   where a.id = any (moving) and c.id = a.call_id;

  select array_agg(n.approval) into asked from unnest(p_approvals, p_verdicts) n (approval, verdict) where n.approval = any (moving) and n.verdict = 'ask';
  perform open_approvals(array_agg(a.call_id), array_agg(n.task), array_agg(n.title), array_agg(n.card))
     from unnest(p_approvals, p_tasks, p_titles, p_cards) n (approval, task, title, card)
     join approvals a on a.id = n.approval
    where n.approval = any (asked);

  -- The new card shows what the old one did.
  update approvals a
     set preconditions = b.preconditions, options = b.options
    from unnest(p_approvals, p_new_approvals) n (approval, new_approval)
    join approvals b on b.id = n.approval
   where a.id = n.new_approval and n.approval = any (asked) and num_nonnulls(b.preconditions, b.options) > 0;

  insert into run_log (run_id, seq, kind, call_id, actor, content)
  select a.run_id, r.last_seq + 1, 'approval.superseded', a.call_id, 'system:policy', to_json(a.settled_reason)::text
    from approvals a
    join runs r on r.id = a.run_id
   where a.id = any (moving);

  perform wake_runs(array_agg(a.run_id), array_agg(1)) from approvals a where a.id = any (moving);

  return query
  select n.run, case when n.approval = any (moving) then 'superseded' when n.approval = any (kept) then 'kept' else 'settled' end
    from unnest(p_runs, p_approvals) n (run, approval)
   where n.run = any (locked);
end
$$;
