-- Running → running. A summary stands in for the older part of the conversation from now on: in the prompt, while the log
-- stays whole. What it cost is counted with the run. Refused where the run has a later summary than the one its writer
-- knew of, so one that is sent again is not recorded again.
create or replace function record_summary(
  p_runs uuid[], p_epochs bigint[], p_leases uuid[], p_previous int[], p_contents text[],
  p_input_tokens int[], p_output_tokens int[], p_cost_micros bigint[], p_blocking boolean
) returns table (run_id uuid, outcome text, seq int, has_news boolean, is_parked boolean)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked uuid[] := lock_runs(p_runs, p_blocking);
  ids    uuid[];
  seqs   int[];
begin
  with written as (
    insert into run_log (run_id, seq, kind, actor, content, input_tokens, output_tokens, cost_micros)
    select r.id, r.last_seq + 1, 'summary', 'run:' || r.id, n.content, n.input_tokens, n.output_tokens, n.cost_micros
      from unnest(p_runs, p_epochs, p_leases, p_previous, p_contents, p_input_tokens, p_output_tokens, p_cost_micros)
           n (run, epoch, lease, previous, content, input_tokens, output_tokens, cost_micros)
      join runs r on r.id = n.run and r.epoch = n.epoch and r.lease_id = n.lease
     where r.id = any (locked)
       and not exists (select 1 from run_log l where l.run_id = r.id and l.seq > n.previous and l.kind = 'summary')
    returning run_id, seq)
  select array_agg(w.run_id), array_agg(w.seq) into ids, seqs from written w;

  update runs r
     set input_tokens  = r.input_tokens + n.input_tokens,
         output_tokens = r.output_tokens + n.output_tokens,
         cost_micros   = r.cost_micros + n.cost_micros
    from unnest(p_runs, p_input_tokens, p_output_tokens, p_cost_micros) n (run, input_tokens, output_tokens, cost_micros)
   where r.id = n.run and r.id = any (ids);

  return query
  select n.run,
         case when s.run_id is not null                                       then 'recorded'
              when r.epoch <> n.epoch or r.lease_id is distinct from n.lease  then 'lease_lost'
              else 'already'
         end,
         k.seq, coalesce(s.has_news, true), coalesce(s.is_parked, false)
    from unnest(p_runs, p_epochs, p_leases) n (run, epoch, lease)
    join runs r on r.id = n.run
    left join unnest(ids, seqs) k (id, seq) on k.id = n.run
    left join settle_runs(ids, array_fill(1, array[coalesce(cardinality(ids), 0)])) s on s.run_id = n.run
   where r.id = any (locked);
end
$$;
