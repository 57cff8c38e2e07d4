-- Open → answered or dismissed. The answer becomes the call's result, the card is resolved and the run is ready, in one
-- commit. An answer is data and never a permission: it settles its own call and nothing else.
create or replace function answer_question(
  p_runs uuid[], p_questions uuid[], p_workspaces uuid[], p_users uuid[], p_answers text[], p_blocking boolean
) returns table (run_id uuid, outcome text, status text, answer text, answered_by text, answered_at timestamptz)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked    uuid[] := lock_runs(p_runs, p_blocking);
  moment    timestamptz := clock_timestamp();
  questions uuid[];
  outcomes  text[];
  answering uuid[];
begin
  select array_agg(n.question), array_agg(v.outcome), array_agg(n.question) filter (where v.outcome = 'answered')
    into questions, outcomes, answering
    from unnest(p_runs, p_questions, p_workspaces, p_users, p_answers) n (run, question, workspace, author, answer)
    join policy_of(locked) p on p.run_id = n.run
    left join questions q    on q.id = n.question and q.run_id = n.run and q.workspace_id = n.workspace
    left join users u        on u.id = n.author and u.workspace_id = n.workspace
   cross join lateral (
         select case
                  when q.id is null                                                             then 'not_found'
                  when u.id is null or u.disabled_at is not null or u.role = 'viewer'           then 'forbidden'
                  when q.status in ('answered', 'dismissed') and q.answered_by = n.author
                       and q.answer is not distinct from n.answer                               then 'repeated'
                  when q.status = 'expired'                                                     then 'expired'
                  when q.status <> 'open'                                                       then 'settled'
                  when p.killed is not null                                                     then 'killed'
                  when greatest(q.expires_at, p.expires_not_before) <= moment
                       and q.expires_at is not null                                             then 'expired'
                  else 'answered'
                end as outcome) v;

  update questions q
     set status = case when n.answer is null then 'dismissed' else 'answered' end, answer = n.answer, answered_at = moment, answered_by = n.author
    from unnest(p_questions, p_users, p_answers) n (question, author, answer)
   where q.id = n.question and q.id = any (answering);

  update tasks t
     set status = case when q.answer is null then 'dismissed' else 'done' end,
         resolved_at = moment, resolved_by = 'user:' || q.answered_by, resolution = coalesce(q.answer, 'dismissed without an answer')
    from questions q
   where q.id = any (answering) and t.id = q.task_id;

  update tool_calls c
     set status = 'done', waits_on = null, wait_until = null, finished_at = moment,
         result = to_json(coalesce(q.answer, 'dismissed without an answer'))::text
    from questions q
   where q.id = any (answering) and c.id = q.call_id;

  insert into run_log (run_id, seq, kind, call_id, actor, content)
  select q.run_id, r.last_seq + 1, 'question.answered', q.call_id, 'user:' || q.answered_by, to_json(q.status)::text
    from questions q
    join runs r on r.id = q.run_id
   where q.id = any (answering);

  perform wake_runs(array_agg(q.run_id), array_agg(1)) from questions q where q.id = any (answering);

  return query
  select n.run, k.outcome, q.status, q.answer,
         case when q.status = 'expired' then 'system:timeout' else u.name end, coalesce(q.answered_at, q.expires_at)
    from unnest(p_runs, p_questions) n (run, question)
    join unnest(questions, outcomes) k (question, outcome) on k.question = n.question
    left join questions q on q.id = n.question and k.outcome <> 'not_found'
    left join users u     on u.id = q.answered_by;
end
$$;
