-- Requested, judged anew. What the classifier said of a call is stored with it, bound to the arguments and the prompt, and
-- with it the verdict that follows. What it cost is a line of the log of its own: it is no part of the run's totals. The
-- call stays requested; whoever holds the run goes on with it, so nothing is taken in or let go of here.
create or replace function classify_call(
  p_runs uuid[], p_epochs bigint[], p_leases uuid[], p_calls uuid[], p_classified text[], p_verdicts text[], p_rows text[],
  p_reasons text[], p_lines text[], p_input_tokens int[], p_output_tokens int[], p_cost_micros bigint[], p_blocking boolean
) returns table (run_id uuid, outcome text)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked uuid[] := lock_runs(p_runs, p_blocking);
  calls  uuid[];
begin
  with classified as (
    update tool_calls c
       set classified = n.classified::json, verdict = n.verdict, gate_row = n.gate_row, gate_reason = n.reason
      from unnest(p_runs, p_epochs, p_leases, p_calls, p_classified, p_verdicts, p_rows, p_reasons)
           n (run, epoch, lease, call, classified, verdict, gate_row, reason)
      join runs r on r.id = n.run and r.epoch = n.epoch and r.lease_id = n.lease
     where r.id = any (locked) and c.id = n.call and c.run_id = r.id
       and (c.status = 'requested' or (c.status = 'executing' and c.epoch < r.epoch))
    returning c.id)
  select array_agg(id) into calls from classified;

  with logged as (
    insert into run_log (run_id, seq, kind, call_id, actor, content, input_tokens, output_tokens, cost_micros)
    select r.id, r.last_seq + 1, 'call.classified', n.call, 'run:' || r.id, n.line, n.input_tokens, n.output_tokens, n.cost_micros
      from unnest(p_runs, p_calls, p_lines, p_input_tokens, p_output_tokens, p_cost_micros)
           n (run, call, line, input_tokens, output_tokens, cost_micros)
      join runs r on r.id = n.run
     where n.call = any (calls)
    returning run_id)
  update runs r set last_seq = r.last_seq + 1 from logged l where r.id = l.run_id;

  return query
  select n.run,
         case when n.call = any (calls)                                         then 'classified'
              when r.epoch = n.epoch and r.lease_id = n.lease                   then 'settled'
              else 'lease_lost'
         end
    from unnest(p_runs, p_epochs, p_leases, p_calls) n (run, epoch, lease, call)
    join runs r on r.id = n.run
   where r.id = any (locked);
end
$$;
