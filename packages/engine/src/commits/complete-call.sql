-- Executing (or requested, where nothing had to be begun) → done, failed or denied. The result and its line in the log
-- become true together; the run goes on with it, or parks where all that is left is waiting.
-- A result that is recorded already changes nothing; the holder goes on either way.
create or replace function complete_call(
  p_runs uuid[], p_epochs bigint[], p_leases uuid[], p_calls uuid[], p_statuses text[], p_results text[], p_codes text[], p_blobs text[],
  p_blocking boolean
) returns table (run_id uuid, outcome text, has_news boolean, is_parked boolean)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked uuid[] := lock_runs(p_runs, p_blocking);
  mine   uuid[];
  seqs   int[];
  ids    uuid[];
begin
  -- In the order of the members: null where the guard does not hold.
  select array_agg(r.id order by n.i), array_agg(r.last_seq order by n.i) into mine, seqs
    from unnest(p_runs, p_epochs, p_leases) with ordinality n (run, epoch, lease, i)
    left join runs r on r.id = n.run and r.id = any (locked) and r.epoch = n.epoch and (r.lease_id = n.lease) is true;

  -- `is true`, here and above, keeps the planner from the indexes of all leases and of all calls of a run: a long run has
  -- many, and the plan may be of a time when there were none.
  with completed as (
    update tool_calls c
       set status = n.status, result = n.result, result_code = n.code, result_blob = n.blob, finished_at = clock_timestamp()
      from unnest(mine, seqs, p_epochs, p_calls, p_statuses, p_results, p_codes, p_blobs)
           n (run, seq, epoch, call, status, result, code, blob)
     where c.id = any (p_calls) and c.id = n.call and (c.run_id = n.run) is true
       and (   (c.status = 'executing' and c.epoch = n.epoch)
            or (c.status = 'requested' and (n.status <> 'done' or c.effect = 'read-only')))
    returning c.run_id, c.id, c.tool, c.status, n.seq),
  logged as (
    insert into run_log (run_id, seq, kind, call_id, actor, content)
    select d.run_id, d.seq + 1, 'call.completed', d.id, 'run:' || d.run_id, to_json(d.tool || ' ' || d.status)::text
      from completed d
    returning run_id)
  select array_agg(run_id) into ids from logged;

  return query
  select n.run,
         case when s.run_id is not null                                            then 'completed'
              when r.epoch <> n.epoch or r.lease_id is distinct from n.lease       then 'lease_lost'
              when c.finished_at is not null                                       then 'already'
              else 'refused'
         end,
         coalesce(s.has_news, true), coalesce(s.is_parked, false)
    from unnest(p_runs, p_epochs, p_leases, p_calls) n (run, epoch, lease, call)
    join runs r            on r.id = n.run
    left join tool_calls c on c.id = n.call
    left join settle_runs(ids, array_fill(1, array[coalesce(cardinality(ids), 0)])) s on s.run_id = n.run
   where r.id = any (locked);
end
$$;
