-- Requested → waiting. A call must be asked about: one that was first to be looked at or judged by the classifier, one that
-- was allowed, or one whose approval no longer carries it. Approval, card and paused status in one commit. An approval the
-- call held before is superseded, not reused; what a person changed with it stays with the call.
--
-- Executing → waiting, where the tool says of this very attempt that it did nothing since a precondition no longer held
-- (p_undone): the attempt does not count, its effect claim and its credentials are given up.
create or replace function request_approvals(
  p_runs uuid[], p_epochs bigint[], p_leases uuid[], p_calls uuid[], p_approvals uuid[], p_tasks uuid[], p_titles text[], p_cards text[],
  p_verdicts text[], p_rows text[], p_reasons text[], p_versions text[], p_definition_hashes text[], p_expires_ms bigint[],
  p_preconditions text[], p_options text[], p_undone boolean[], p_blocking boolean
) returns table (run_id uuid, outcome text, has_news boolean, is_parked boolean)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked uuid[] := lock_runs(p_runs, p_blocking);
  ids    uuid[];
  calls  uuid[];
begin
  select array_agg(r.id), array_agg(c.id) into ids, calls
    from unnest(p_runs, p_epochs, p_leases, p_calls, p_undone) n (run, epoch, lease, call, is_undone)
    join runs r       on r.id = n.run and r.epoch = n.epoch and r.lease_id = n.lease
    join tool_calls c on c.id = n.call and c.run_id = r.id
     and (c.status = 'requested' or (n.is_undone and c.status = 'executing' and c.epoch = r.epoch))
   where r.id = any (locked);

  update approvals a
     set status = 'superseded', version = a.version + 1, settled_reason = 'asked again: ' || n.reason
    from unnest(p_calls, p_reasons) n (call, reason)
    join tool_calls c on c.id = n.call
   where c.id = any (calls) and a.id = c.approval_id and a.status = 'approved' and a.consumed_at is null;

  update tool_calls c
     set status = 'waiting', waits_on = 'approval', verdict = n.verdict, gate_row = n.gate_row, gate_reason = n.reason,
         policy_versions = n.versions, definition_hash = n.definition_hash, approval_id = n.approval,
         wait_until       = clock_timestamp() + n.expires_ms * interval '1 millisecond',
         run_args         = coalesce(b.edited_args, c.run_args),
         run_args_hash    = coalesce(b.edited_args_hash, c.run_args_hash),
         selected_option  = null,
         attempt          = c.attempt - (c.status = 'executing')::int,
         undone           = c.undone + (c.status = 'executing')::int,
         epoch            = case when c.status = 'executing' and c.attempt = 1 then null else c.epoch end,
         has_effect_claim = c.has_effect_claim and not (c.status = 'executing' and c.attempt = 1)
    from unnest(p_calls, p_approvals, p_verdicts, p_rows, p_reasons, p_versions, p_definition_hashes, p_expires_ms)
         n (call, approval, verdict, gate_row, reason, versions, definition_hash, expires_ms)
    join tool_calls h on h.id = n.call
    left join approvals b on b.id = h.approval_id
   where c.id = n.call and c.id = any (calls);

  if true = any (p_undone) then
    delete from capability_leases l
     using unnest(p_calls, p_undone) n (call, is_undone)
     where l.call_id = n.call and n.is_undone and n.call = any (calls);
  end if;

  perform open_approvals(array_agg(n.call), array_agg(n.task), array_agg(n.title), array_agg(n.card))
     from unnest(p_calls, p_tasks, p_titles, p_cards) n (call, task, title, card)
    where n.call = any (calls);

  update approvals a
     set preconditions = n.preconditions, options = n.options
    from unnest(p_calls, p_approvals, p_preconditions, p_options) n (call, approval, preconditions, options)
   where a.id = n.approval and n.call = any (calls) and num_nonnulls(n.preconditions, n.options) > 0;

  return query
  select n.run, case when s.run_id is not null                          then 'requested'
                     when r.epoch = n.epoch and r.lease_id = n.lease    then 'settled'
                     else 'lease_lost'
                end,
         coalesce(s.has_news, true), coalesce(s.is_parked, false)
    from unnest(p_runs, p_epochs, p_leases) n (run, epoch, lease)
    left join settle_runs(ids, array_fill(0, array[coalesce(cardinality(ids), 0)])) s on s.run_id = n.run
    join runs r on r.id = n.run
   where r.id = any (locked);
end
$$;
