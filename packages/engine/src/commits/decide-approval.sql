-- Pending → approved or denied. The decision, the resolved card, the rule that remembers it, the call's way on and the
-- run's readiness become true together. One winner: everybody else is told who decided what and when; the same person with
-- the same answer gets the first result again.
--
-- Where the approver rule asks for a quorum, an answer that lets something run is a vote until there are enough of its kind
-- by people who still have a say; the version stays, so that all vote on the same. Any other answer settles at once.
--
-- An approval of kind `outcome` says what became of an unknown effect: `done` (the person's words are the result),
-- `retry` (run it again, with the same key) or `give_up`.
-- Identity and role come from the users table, never from the request; a refusal for lack of the role, and an answer
-- that came after the deadline, leave an audit row.
--   p_edited_args, p_edited_hashes: the arguments as the person changed them, gated before; null where nothing changed.
--   p_choices:  what is approved beyond the plain call, as one text; votes count together where it is the same.
--   p_rules:    JSON of the rule to remember, for a scope beyond `once`: id, entries, covers, expiresMs.
--   p_is_whole: all of the decisions or none: where one is refused, the others are `held_back`.
create or replace function decide_approval(
  p_runs uuid[], p_approvals uuid[], p_workspaces uuid[], p_users uuid[], p_answers text[], p_versions int[], p_args_hashes text[],
  p_feedbacks text[], p_notes text[], p_ways text[], p_edited_args text[], p_edited_hashes text[], p_options text[], p_scopes text[],
  p_choices text[], p_rules text[], p_blocking boolean, p_is_whole boolean default false
) returns table (run_id uuid, approval_id uuid, outcome text, status text, answer text, decided_by text, decided_at timestamptz,
                 version int, vote_count int, quorum int)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked    uuid[] := lock_runs(p_runs, p_blocking);
  moment    timestamptz := clock_timestamp();
  outcomes  text[];
  says      uuid[];
  counts    int[];
  quorums   int[];
  lines     int[];
  deciding  uuid[];
  voting    uuid[];
  pins      boolean;
begin
  -- In the order of the members, so that no later statement has to join them: null for a run that was not locked. Each
  -- `offset 0` keeps what is worked out once from being copied to every place that uses it.
  select array_agg(v.outcome order by n.i), array_agg(s.say order by n.i), array_agg(c.votes order by n.i), array_agg(s.quorum order by n.i),
         array_agg(n.approval) filter (where v.outcome = 'decided'),
         bool_or(a.gate_row = '12' or n.scope in ('definition', 'workspace'))
    into outcomes, says, counts, quorums, deciding, pins
    from unnest(p_runs, p_approvals, p_workspaces, p_users, p_answers, p_versions, p_args_hashes, p_feedbacks, p_edited_hashes,
                p_options, p_scopes, p_choices)
         with ordinality
         n (run, approval, workspace, decider, answer, version, args_hash, feedback, edited_hash, option, scope, choice, i)
    left join policy_of(locked) p on p.run_id = n.run
    left join approvals a         on a.id = n.approval and a.id = any (p_approvals) and a.run_id = n.run and a.workspace_id = n.workspace
    left join users u             on u.id = n.decider and u.workspace_id = n.workspace
   cross join lateral (
         select case when a.approver_rule is not null                                     then say_of(a.id, n.decider)
                     when u.role in ('approver', 'admin') and u.disabled_at is null       then u.id
                end as say,
                coalesce((a.approver_rule ->> 'quorum')::int, 1) as quorum,
                n.answer in ('approve', 'retry')                 as lets_run
        offset 0) s
   cross join lateral (
         select case when s.quorum = 1 then 1 else count_votes(a.id, n.decider, s.say, n.answer, n.choice) end as votes,
                a.approver_rule is not null and has_voted(a.id, n.decider, n.answer, n.choice, n.feedback)      as has_voted
        offset 0) c
   cross join lateral (
         select case
                  when p.run_id is null                                                     then null
                  when a.id is null                                                         then 'not_found'
                  when s.say is null                                                        then 'forbidden'
                  when a.status in ('approved', 'denied') and a.answer = n.answer
                       and (c.has_voted
                            or (a.decided_by = n.decider
                                and a.feedback is not distinct from coalesce(n.feedback, a.feedback)
                                and a.edited_args_hash is not distinct from n.edited_hash
                                and a.selected_option is not distinct from n.option
                                and coalesce(a.scope, 'once') = coalesce(n.scope, 'once')))  then 'repeated'
                  when a.status = 'expired'                                                 then 'expired'
                  when a.status <> 'pending'                                                then 'settled'
                  when p.killed is not null                                                 then 'killed'
                  when greatest(a.expires_at, p.expires_not_before) <= moment
                       and a.expires_at is not null                                         then 'expired'
                  when a.version <> n.version or a.args_hash <> n.args_hash                 then 'stale'
                  when (a.kind = 'approval') <> (n.answer in ('approve', 'deny'))           then 'wrong_answer'
                  when coalesce(n.scope, 'once') <> 'once'
                       and (s.say <> n.decider
                            -- A rule of the definition answers for the runs that who decides starts, too.
                            or ((n.scope = 'workspace'
                                 or (n.scope = 'definition' and s.quorum = 1 and a.approver_rule ->> 'selfApproval' = 'forbid'))
                                and u.role <> 'admin'))                                     then 'may_not_remember'
                  when n.answer = 'approve'
                       and case when a.options is null then n.option is not null
                                else not is_offered(a.options, n.option) end                then 'not_offered'
                  when c.votes >= s.quorum or not s.lets_run                                then 'decided'
                  when c.has_voted                                                          then 'repeated'
                  else 'voted'
                end as outcome
        offset 0) v;

  if p_is_whole then
    if not outcomes <@ array['decided', 'voted', 'repeated'] then
      outcomes := array(select case when o in ('decided', 'voted') then 'held_back' else o end
                          from unnest(outcomes) with ordinality k (o, i) order by i);
      deciding := null;
    end if;
    -- Several members may be of one run, and write one line after the other.
    lines := array(select count(*) filter (where m.outcome in ('decided', 'voted')) over (partition by m.run order by m.i)
                     from unnest(p_runs, outcomes) with ordinality m (run, outcome, i) order by m.i);
  end if;

  if 1 < any (quorums) then
    select array_agg(n.approval) into voting
      from unnest(p_approvals, outcomes, quorums) n (approval, outcome, quorum)
     where n.quorum > 1 and n.outcome in ('decided', 'voted');

    -- Who handed their say to another takes it back by using it.
    delete from votes v
     using unnest(p_approvals, p_users, says) n (approval, decider, say)
     where n.approval = any (voting) and v.approval_id = n.approval and v.say_of = n.say and v.user_id <> n.decider;

    insert into votes (approval_id, user_id, say_of, answer, choice, feedback, note, voted_at)
    select n.approval, n.decider, n.say, n.answer, n.choice, n.feedback, n.note, moment
      from unnest(p_approvals, p_users, says, p_answers, p_choices, p_feedbacks, p_notes)
           n (approval, decider, say, answer, choice, feedback, note)
     where n.approval = any (voting)
        on conflict (approval_id, user_id) do update
       set say_of = excluded.say_of, answer = excluded.answer, choice = excluded.choice, feedback = excluded.feedback,
           note = excluded.note, voted_at = excluded.voted_at;
  end if;

  update approvals a
     set status           = case when n.answer in ('deny', 'give_up') then 'denied' else 'approved' end,
         version          = a.version + 1,
         decided_at       = moment,
         decided_by       = n.decider,
         decided_for      = nullif(n.say, n.decider),
         answer           = n.answer,
         feedback         = n.feedback,
         note             = n.note,
         edited_args      = n.edited_args,
         edited_args_hash = n.edited_hash,
         selected_option  = n.option,
         scope            = n.scope
    from unnest(p_approvals, p_users, says, p_answers, p_feedbacks, p_notes, p_edited_args, p_edited_hashes, p_options, p_scopes)
         n (approval, decider, say, answer, feedback, note, edited_args, edited_hash, option, scope)
   where a.id = n.approval and a.id = any (deciding);

  update tasks t
     set status = 'done', resolved_at = moment, resolved_by = 'user:' || a.decided_by, resolution = a.answer
    from approvals a
   where a.id = any (deciding) and t.id = a.task_id and t.id = any (array(select d.task_id from approvals d where d.id = any (deciding)));

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
   where a.id = any (deciding) and c.id = a.call_id and c.id = any (array(select d.call_id from approvals d where d.id = any (deciding)));

  insert into run_log (run_id, seq, kind, call_id, actor, content)
  select a.run_id, r.last_seq + coalesce(n.line, 1),
         'approval.' || n.outcome, a.call_id, 'user:' || n.decider, to_json(n.answer)::text
    from unnest(p_approvals, p_users, p_answers, outcomes, lines) n (approval, decider, answer, outcome, line)
    join approvals a on a.id = n.approval and a.id = any (p_approvals)
    join runs r      on r.id = a.run_id and r.id = any (locked)
   where n.outcome in ('decided', 'voted');

  insert into audit (workspace_id, actor, action, run_id, call_id, subject, details)
  select n.workspace, 'user:' || n.decider,
         'approval.' || case when n.outcome in ('decided', 'voted') then n.outcome else 'decision_refused' end,
         n.run, a.call_id, n.approval::text,
         json_build_object('answer', n.answer, 'way', n.way, 'outcome', n.outcome, 'argsHash', n.args_hash, 'version', n.version,
                           'cardHash', encode(sha256(convert_to(a.card, 'UTF8')), 'hex'), 'policyVersions', a.policy_versions,
                           'definitionHash', a.definition_hash, 'gateRow', a.gate_row, 'gateReason', a.gate_reason,
                           'sayOf', nullif(n.say, n.decider), 'votes', n.votes, 'quorum', n.quorum,
                           'scope', n.scope, 'editedArgsHash', n.edited_hash, 'selectedOption', n.option)
    from unnest(p_runs, p_approvals, p_workspaces, p_users, p_answers, p_versions, p_args_hashes, p_ways, p_edited_hashes,
                p_options, p_scopes, outcomes, says, counts, quorums)
         n (run, approval, workspace, decider, answer, version, args_hash, way, edited_hash, option, scope, outcome, say, votes, quorum)
    join approvals a on a.id = n.approval and a.id = any (p_approvals)
   where n.outcome in ('decided', 'voted', 'forbidden', 'expired', 'may_not_remember');

  if pins then
    perform pin_tools(array_agg(a.id))
       from unnest(p_approvals, p_scopes) n (approval, scope)
       join approvals a on a.id = n.approval
      where a.id = any (deciding) and a.status = 'approved' and (a.gate_row = '12' or n.scope in ('definition', 'workspace'))
     having count(*) > 0;
  end if;

  if array_remove(p_rules, null) <> '{}' then
    perform remember_decisions(array_agg(n.rule), array_agg(n.approval), array_agg(n.scope), array_agg(n.decider), array_agg(n.way))
       from unnest(p_rules, p_approvals, p_scopes, p_users, p_ways) n (rule, approval, scope, decider, way)
      where n.approval = any (deciding) and n.rule is not null
     having count(*) > 0;
  end if;

  perform wake_runs(array_agg(x.run), array_agg(x.lines))
     from (select a.run_id, count(*)::int from approvals a where a.id = any (deciding) group by a.run_id) x (run, lines);

  if voting is not null then
    perform note_runs(array_agg(x.run), array_agg(x.lines))
       from (select a.run_id, count(*)::int from approvals a where a.id = any (voting) and a.status = 'pending' group by a.run_id) x (run, lines);
  end if;

  return query
  select n.run, n.approval, n.outcome, a.status, a.answer,
         case when a.status = 'expired' then 'system:timeout' when u.id is not null then u.name end, coalesce(a.decided_at, a.expires_at), a.version,
         n.votes, n.quorum
    from unnest(p_runs, p_approvals, outcomes, counts, quorums) n (run, approval, outcome, votes, quorum)
    left join approvals a on a.id = n.approval and a.id = any (p_approvals) and n.outcome <> 'not_found'
    left join users u     on u.id = a.decided_by
   where n.outcome is not null;
end
$$;
