-- Running → running, paused or completed. What the model said, and what follows from it, become true together: the
-- assistant message and its calls, the usage, the steers that were in its prompt, and the continuation where nothing may
-- happen in between: the approvals and questions its calls wait for, or the finish.
--
-- A finish is refused while a steer is unread: the turn is recorded and the model is asked once more. A turn that is
-- recorded already (its reply was lost) is not recorded again.
create or replace function record_turn(
  p_runs uuid[], p_epochs bigint[], p_leases uuid[], p_turns int[], p_contents text[], p_steers_read int[],
  p_input_tokens int[], p_output_tokens int[], p_cost_micros bigint[], p_outputs text[],
  c_runs uuid[], c_ids uuid[], c_positions int[], c_provider_ids text[], c_tools text[], c_args text[], c_args_hashes text[],
  c_definition_hashes text[], c_effects text[], c_requires text[], c_verdicts text[], c_rows text[], c_reasons text[],
  c_versions text[], c_statuses text[], c_results text[], c_codes text[], c_waits text[], c_wait_ms bigint[],
  c_approvals uuid[], c_questions uuid[], c_tasks uuid[], c_titles text[], c_cards text[],
  c_question_texts text[], c_options text[], c_contexts text[], c_defaults text[],
  p_blocking boolean
) returns table (run_id uuid, outcome text, seq int, has_news boolean, is_parked boolean)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked    uuid[] := lock_runs(p_runs, p_blocking);
  ids       uuid[];
  seqs      int[];
  read      int[];
  finishing boolean[];
  news      boolean[];
begin
  -- In the order of the members, so that no later statement has to join them: null where the guard does not hold.
  select array_agg(r.id order by n.i), array_agg(r.last_seq + x.steer_lines + 1 order by n.i), array_agg(x.steer_lines order by n.i),
         array_agg(n.output is not null and r.unread = x.steer_lines order by n.i), array_agg(r.ready_at is not null order by n.i)
    into ids, seqs, read, finishing, news
    from unnest(p_runs, p_epochs, p_leases, p_turns, p_steers_read, p_outputs)
         with ordinality n (run, epoch, lease, turn, steers_read, output, i)
    left join runs r
      on r.id = n.run and r.id = any (locked) and r.epoch = n.epoch and r.lease_id = n.lease and r.turns = n.turn
   cross join lateral (select greatest(n.steers_read - (r.steers - r.unread), 0) as steer_lines) x;

  if 0 < any (read) then
    with taken as (
      update steers s
         set read_seq = k.seq
        from unnest(ids, seqs, read, p_steers_read) n (id, seq, read, steers_read)
       cross join lateral (select n.steers_read - n.read + x as n, n.seq - n.read - 1 + x as seq from generate_series(1, n.read) x) k
       where s.run_id = n.id and s.n = k.n
      returning s.run_id, s.read_seq, s.author, s.content)
    insert into run_log (run_id, seq, kind, actor, content)
    select t.run_id, t.read_seq, 'user', 'user:' || t.author, t.content from taken t;
  end if;

  insert into run_log (run_id, seq, kind, actor, content, input_tokens, output_tokens, cost_micros)
  select n.id, n.seq, 'assistant', 'run:' || n.id, n.content, n.input_tokens, n.output_tokens, n.cost_micros
    from unnest(ids, seqs, p_contents, p_input_tokens, p_output_tokens, p_cost_micros)
         n (id, seq, content, input_tokens, output_tokens, cost_micros)
   where n.id is not null
   union all
  select k.id, k.seq + 1, 'run.ended', 'run:' || k.id, to_json('completed'::text)::text, null, null, null
    from unnest(ids, seqs, finishing) k (id, seq, is_finishing)
   where k.is_finishing;

  if cardinality(c_ids) > 0 then
    insert into tool_calls (id, run_id, turn_seq, position, provider_id, tool, args, args_hash, definition_hash, effect, requires,
                            verdict, gate_row, gate_reason, policy_versions, status, result, result_code, finished_at,
                            waits_on, wait_until, approval_id, question_id)
    select c.id, k.id, k.seq, c.position, c.provider_id, c.tool, c.args, c.args_hash, c.definition_hash, c.effect,
           coalesce(string_to_array(nullif(c.requires, ''), ','), '{}'),
           c.verdict, c.gate_row, c.gate_reason, c.versions, c.status, c.result, c.code,
           case when c.status in ('denied', 'failed') then clock_timestamp() end,
           c.waits_on, clock_timestamp() + c.wait_ms * interval '1 millisecond', c.approval_id, c.question_id
      from unnest(c_runs, c_ids, c_positions, c_provider_ids, c_tools, c_args, c_args_hashes, c_definition_hashes, c_effects,
                  c_requires, c_verdicts, c_rows, c_reasons, c_versions, c_statuses, c_results, c_codes, c_waits, c_wait_ms,
                  c_approvals, c_questions)
           c (run, id, position, provider_id, tool, args, args_hash, definition_hash, effect, requires, verdict, gate_row,
              gate_reason, versions, status, result, code, waits_on, wait_ms, approval_id, question_id)
      join unnest(ids, seqs) k (id, seq) on k.id = c.run;
  end if;

  if 'approval' = any (c_waits) then
    perform open_approvals(array_agg(c.id), array_agg(c.task), array_agg(c.title), array_agg(c.card))
       from unnest(c_runs, c_ids, c_waits, c_tasks, c_titles, c_cards) c (run, id, waits_on, task, title, card)
      where c.run = any (ids) and c.waits_on = 'approval';
  end if;

  if 'question' = any (c_waits) then
    perform open_questions(array_agg(c.id), array_agg(c.task), array_agg(c.title), array_agg(c.question), array_agg(c.options),
                           array_agg(c.context), array_agg(c.default_answer))
       from unnest(c_runs, c_ids, c_waits, c_tasks, c_titles, c_question_texts, c_options, c_contexts, c_defaults)
            c (run, id, waits_on, task, title, question, options, context, default_answer)
      where c.run = any (ids) and c.waits_on = 'question';
  end if;

  -- The message has come: what was shown of it on the way is not needed any more.
  delete from deltas d where d.run_id = any (ids);

  update runs r
     set last_seq                = n.seq + n.is_finishing::int,
         turns                   = r.turns + 1,
         call_count              = r.call_count + (select count(*) from tool_calls c where c.run_id = r.id and c.turn_seq = n.seq),
         unread                  = r.unread - n.read,
         input_tokens            = r.input_tokens + n.input_tokens,
         output_tokens           = r.output_tokens + n.output_tokens,
         cost_micros             = r.cost_micros + n.cost_micros,
         claims_without_progress = 0,
         status                  = case when n.is_finishing then 'completed' else s.status end,
         waits_on                = case when not n.is_finishing then s.waits_on end,
         wake_at                 = case when not n.is_finishing then s.wake_at end,
         output                  = case when n.is_finishing then n.output end,
         finished_at             = case when n.is_finishing then clock_timestamp() end,
         ready_at                = null,
         changed                 = pg_current_xact_id(),
         lease_id                = case when not o.lets_go then r.lease_id end,
         lease_until             = case when not o.lets_go then r.lease_until end,
         worked_ms               = r.worked_ms + case when o.lets_go then (extract(epoch from clock_timestamp() - r.claimed_at) * 1000)::bigint else 0 end
    from unnest(ids, seqs, finishing, news, read, p_input_tokens, p_output_tokens, p_cost_micros, p_outputs)
         n (id, seq, is_finishing, has_news, read, input_tokens, output_tokens, cost_micros, output)
   cross join lateral run_state(array[n.id]) s
   cross join lateral (select n.is_finishing or (s.is_idle and not n.has_news) as lets_go) o
   where r.id = n.id;

  return query
  select n.run,
         case when n.id is null and r.epoch = n.epoch and r.lease_id = n.lease then 'already'
              when n.id is null                                               then 'lease_lost'
              when n.is_finishing                                             then 'finished'
              when n.output is not null                                       then 'unread'
              else 'recorded'
         end,
         n.seq, n.has_news, r.lease_id is null
    from unnest(p_runs, p_epochs, p_leases, p_outputs, ids, seqs, finishing, news)
         n (run, epoch, lease, output, id, seq, is_finishing, has_news)
    join runs r on r.id = n.run
   where r.id = any (locked);
end
$$;
