-- Requested → executing: the last commit before the outside world. It re-checks, under the locks, everything the start
-- rests on: the lease, the kill switches, the policy versions the worker has just judged under, that no rule or dial of
-- them has expired since, the grants, and where a person was asked, that this very call was approved by somebody still
-- entitled to and was not used before.
--
-- A call that an earlier attempt left executing or unknown may be begun again only where its tool recognises the
-- idempotency key (p_again), or where a person answered `retry` on its outcome.
create or replace function begin_call(
  p_runs uuid[], p_epochs bigint[], p_leases uuid[], p_calls uuid[], p_versions text[], p_valid_until timestamptz[],
  p_definition_hashes text[], p_needs_approval boolean[], p_again boolean[], p_blocking boolean
) returns table (run_id uuid, outcome text, detail text)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked   uuid[] := lock_runs(p_runs, p_blocking);
  outcomes text[];
  details  text[];
  calls    uuid[];
  starting uuid[];
  epochs   bigint[];
begin
  perform lock_policies(locked);

  select array_agg(n.call), array_agg(v.outcome), array_agg(v.detail),
         array_agg(n.call) filter (where v.outcome = 'begun'), array_agg(n.epoch) filter (where v.outcome = 'begun')
    into calls, outcomes, details, starting, epochs
    from unnest(p_runs, p_epochs, p_leases, p_calls, p_versions, p_valid_until, p_definition_hashes, p_needs_approval, p_again)
         n (run, epoch, lease, call, versions, valid_until, definition_hash, needs_approval, is_again)
    join runs r             on r.id = n.run
    join policy_of(locked) p on p.run_id = r.id
    left join tool_calls c  on c.id = n.call and c.run_id = r.id
    left join approvals a   on a.id = c.approval_id
    left join users u       on u.id = a.decided_by
   cross join lateral (
         select case
                  when r.epoch <> n.epoch or r.lease_id is distinct from n.lease               then 'lease_lost'
                  when c.id is null                                                            then 'settled'
                  when c.status = 'executing' and c.epoch = r.epoch                            then 'already'
                  when not (c.status = 'requested' or (c.status = 'executing' and n.is_again)) then 'settled'
                  when p.killed is not null                                                    then 'killed'
                  when p.versions <> n.versions or n.valid_until <= clock_timestamp()          then 'policy_moved'
                  when c.definition_hash <> n.definition_hash                                  then 'definition_changed'
                  when not c.requires <@ r.grants                                              then 'not_granted'
                  when not n.needs_approval and a.answer is distinct from 'retry'              then 'begun'
                  when a.id is null or a.status <> 'approved'                                  then 'not_approved'
                  when a.args_hash <> coalesce(c.run_args_hash, c.args_hash)
                       or a.definition_hash <> c.definition_hash                               then 'not_approved'
                  when not (case when a.approver_rule is not null then approval_stands(a.id)
                                 else coalesce(u.role in ('approver', 'admin') and u.disabled_at is null, false) end) then 'not_approved'
                  when a.consumed_at is not null and c.attempt = 0                             then 'not_approved'
                  when a.options is not null and not is_offered(a.options, a.selected_option)  then 'not_approved'
                  else 'begun'
                end as outcome,
                case
                  when p.killed is not null       then p.killed
                  when p.versions <> n.versions or n.valid_until <= clock_timestamp() then p.versions
                  when not c.requires <@ r.grants then (select q from unnest(c.requires) q where q <> all (r.grants) order by q limit 1)
                end as detail) v
   where r.id = any (locked);

  -- A start is no progress: a call that always kills its worker must end in quarantine.
  update runs r
     set last_seq = r.last_seq + coalesce(b.lines, 0)
    from (select c.run_id from tool_calls c where c.id = any (starting)) n
    left join begin_calls(starting, epochs) b on b.run_id = n.run_id
   where r.id = n.run_id;

  return query
  select n.run, k.outcome, k.detail
    from unnest(p_runs, p_calls) n (run, call)
    join unnest(calls, outcomes, details) k (call, outcome, detail) on k.call = n.call;
end
$$;
