-- Nothing changes but the evidence: what an attempt that had lost its lease still found out is kept beside the call, for
-- the person who is asked about its outcome.
create or replace function record_late_result(p_runs uuid[], p_calls uuid[], p_epochs bigint[], p_statuses text[], p_results text[], p_blocking boolean)
returns table (run_id uuid, outcome text)
language sql volatile as $$
  with kept as (
    insert into late_results (run_id, call_id, epoch, status, result)
    select c.run_id, c.id, n.epoch, n.status, n.result
      from unnest(p_runs, p_calls, p_epochs, p_statuses, p_results) n (run, call, epoch, status, result)
      join tool_calls c on c.id = n.call and c.run_id = n.run
    returning run_id)
  select n.run, case when exists (select 1 from kept k where k.run_id = n.run) then 'kept' else 'unknown_call' end
    from unnest(p_runs) n (run)
$$;
