-- Executing → unknown. Nobody can tell whether the effect happened, so it is not run again: a person is asked, with an
-- approval of kind `outcome` that never expires, its card, and the run paused on it, in one commit.
create or replace function mark_unknown(
  p_runs uuid[], p_epochs bigint[], p_leases uuid[], p_calls uuid[], p_results text[], p_approvals uuid[], p_tasks uuid[],
  p_titles text[], p_cards text[], p_blocking boolean
) returns table (run_id uuid, outcome text, has_news boolean, is_parked boolean)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked uuid[] := lock_runs(p_runs, p_blocking);
  ids    uuid[];
  calls  uuid[];
begin
  with marked as (
    update tool_calls c
       set status = 'unknown', waits_on = 'outcome', wait_until = null, result = n.result, result_code = 'unknown', approval_id = n.approval,
           run_args        = coalesce((select b.edited_args from approvals b where b.id = c.approval_id), c.run_args),
           run_args_hash   = coalesce((select b.edited_args_hash from approvals b where b.id = c.approval_id), c.run_args_hash),
           selected_option = coalesce((select b.selected_option from approvals b where b.id = c.approval_id), c.selected_option)
      from unnest(p_runs, p_epochs, p_leases, p_calls, p_results, p_approvals) n (run, epoch, lease, call, result, approval)
      join runs r on r.id = n.run and r.epoch = n.epoch and r.lease_id = n.lease
     where r.id = any (locked) and c.id = n.call and c.run_id = r.id
       and (c.status = 'executing' or (c.status = 'requested' and c.attempt > 0))
    returning c.run_id, c.id, c.tool),
  logged as (
    insert into run_log (run_id, seq, kind, call_id, actor, content)
    select m.run_id, r.last_seq + 1, 'call.unknown', m.id, 'run:' || m.run_id, to_json(m.tool || ' unknown')::text
      from marked m
      join runs r on r.id = m.run_id
    returning run_id, call_id)
  select array_agg(run_id), array_agg(call_id) into ids, calls from logged;

  perform open_approvals(array_agg(n.call), array_agg(n.task), array_agg(n.title), array_agg(n.card))
     from unnest(p_calls, p_tasks, p_titles, p_cards) n (call, task, title, card)
    where n.call = any (calls);

  -- Run again, it is to be what a person agreed to.
  update approvals a
     set preconditions = (select b.preconditions from approvals b
                           where b.call_id = a.call_id and b.id <> a.id
                           order by b.requested_at desc limit 1)
    from unnest(p_calls, p_approvals) n (call, approval)
   where a.id = n.approval and n.call = any (calls);

  return query
  select n.run,
         case when s.run_id is not null                                       then 'unknown'
              when r.epoch <> n.epoch or r.lease_id is distinct from n.lease  then 'lease_lost'
              else 'settled'
         end,
         coalesce(s.has_news, true), coalesce(s.is_parked, false)
    from unnest(p_runs, p_epochs, p_leases) n (run, epoch, lease)
    join runs r on r.id = n.run
    left join settle_runs(ids, array_fill(1, array[coalesce(cardinality(ids), 0)])) s on s.run_id = n.run
   where r.id = any (locked);
end
$$;
