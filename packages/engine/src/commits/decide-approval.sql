-- Pending → approved or denied. The decision, the resolved card, the call's way on and the run's readiness become true
-- together. One winner: everybody else is told who decided what and when; the same person with the same answer gets the
-- first result again.
--
-- An approval of kind `outcome` says what became of an unknown effect: `done` (the person's words are the result),
-- `retry` (run it again, with the same key) or `give_up`.
-- Identity and role come from the users table, never from the request; a refusal for lack of the role, and an answer
-- that came after the deadline, leave an audit row.
create or replace function decide_approval(
  p_runs uuid[], p_approvals uuid[], p_workspaces uuid[], p_users uuid[], p_answers text[], p_versions int[], p_args_hashes text[],
  p_feedbacks text[], p_notes text[], p_ways text[], p_blocking boolean
) returns table (run_id uuid, outcome text, status text, answer text, decided_by text, decided_at timestamptz, version int)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked    uuid[] := lock_runs(p_runs, p_blocking);
  moment    timestamptz := clock_timestamp();
  approvals uuid[];
  outcomes  text[];
  deciding  uuid[];
begin
  select array_agg(n.approval), array_agg(v.outcome), array_agg(n.approval) filter (where v.outcome = 'decided')
    into approvals, outcomes, deciding
    from unnest(p_runs, p_approvals, p_workspaces, p_users, p_answers, p_versions, p_args_hashes, p_feedbacks)
         n (run, approval, workspace, decider, answer, version, args_hash, feedback)
    join policy_of(locked) p on p.run_id = n.run
    left join approvals a    on a.id = n.approval and a.run_id = n.run and a.workspace_id = n.workspace
    left join users u        on u.id = n.decider and u.workspace_id = n.workspace
   cross join lateral (
         select case
                  when a.id is null                                                         then 'not_found'
                  when u.id is null or u.disabled_at is not null
                       or u.role not in ('approver', 'admin')                               then 'forbidden'
                  when a.status in ('approved', 'denied') and a.decided_by = n.decider
                       and a.answer = n.answer
                       and a.feedback is not distinct from coalesce(n.feedback, a.feedback) then 'repeated'
                  when a.status = 'expired'                                                 then 'expired'
                  when a.status <> 'pending'                                                then 'settled'
                  when p.killed is not null                                                 then 'killed'
                  when greatest(a.expires_at, p.expires_not_before) <= moment
                       and a.expires_at is not null                                         then 'expired'
                  when a.version <> n.version or a.args_hash <> n.args_hash                 then 'stale'
                  when (a.kind = 'approval') <> (n.answer in ('approve', 'deny'))           then 'wrong_answer'
                  else 'decided'
                end as outcome) v;

  update approvals a
     set status     = case when n.answer in ('deny', 'give_up') then 'denied' else 'approved' end,
         version    = a.version + 1,
         decided_at = moment,
         decided_by = n.decider,
         answer     = n.answer,
         feedback   = n.feedback,
         note       = n.note
    from unnest(p_approvals, p_users, p_answers, p_feedbacks, p_notes) n (approval, decider, answer, feedback, note)
   where a.id = n.approval and a.id = any (deciding);

  update tasks t
     set status = 'done', resolved_at = moment, resolved_by = 'user:' || a.decided_by, resolution = a.answer
    from approvals a
   where a.id = any (deciding) and t.id = a.task_id;

  update tool_calls c
     set status      = case a.answer when 'approve' then 'requested' when 'retry' then 'requested'
                                     when 'done' then 'done' when 'give_up' then 'failed' else 'denied' end,
         waits_on    = null,
         wait_until  = null,
         finished_at = case when a.answer not in ('approve', 'retry') then moment end,
         result      = case a.answer when 'deny'    then to_json('denied by user' || coalesce(': ' || a.feedback, ''))::text
                                     when 'done'    then to_json(coalesce(a.feedback, 'done, as a person confirmed'))::text
                                     when 'give_up' then to_json('unknown whether it happened; a person decided not to run it again'
                                                                 || coalesce(': ' || a.feedback, ''))::text end,
         result_code = case a.answer when 'deny' then 'user_denied' when 'give_up' then 'unknown' end
    from approvals a
   where a.id = any (deciding) and c.id = a.call_id;

  insert into run_log (run_id, seq, kind, call_id, actor, content)
  select a.run_id, r.last_seq + 1, 'approval.decided', a.call_id, 'user:' || a.decided_by, to_json(a.answer)::text
    from approvals a
    join runs r on r.id = a.run_id
   where a.id = any (deciding);

  insert into audit (workspace_id, actor, action, run_id, call_id, subject, details)
  select n.workspace, 'user:' || n.decider,
         case k.outcome when 'decided' then 'approval.decided' else 'approval.decision_refused' end,
         n.run, a.call_id, n.approval::text,
         json_build_object('answer', n.answer, 'way', n.way, 'outcome', k.outcome, 'argsHash', n.args_hash, 'version', n.version,
                           'cardHash', encode(sha256(convert_to(a.card, 'UTF8')), 'hex'), 'policyVersions', a.policy_versions)
    from unnest(p_runs, p_approvals, p_workspaces, p_users, p_answers, p_versions, p_args_hashes, p_ways)
         n (run, approval, workspace, decider, answer, version, args_hash, way)
    join unnest(approvals, outcomes) k (approval, outcome) on k.approval = n.approval
    join approvals a on a.id = n.approval
   where k.outcome in ('decided', 'forbidden', 'expired');

  perform wake_runs(array_agg(a.run_id), array_agg(1)) from approvals a where a.id = any (deciding);

  return query
  select n.run, k.outcome, a.status, a.answer,
         case when a.status = 'expired' then 'system:timeout' when u.id is not null then u.name end, coalesce(a.decided_at, a.expires_at), a.version
    from unnest(p_runs, p_approvals) n (run, approval)
    join unnest(approvals, outcomes) k (approval, outcome) on k.approval = n.approval
    left join approvals a on a.id = n.approval and k.outcome <> 'not_found'
    left join users u     on u.id = a.decided_by;
end
$$;
