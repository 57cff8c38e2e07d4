-- A call that executes acquires a capability once more: its lease lasts another five minutes, or begins, with the audit
-- row and the log line of it in the same commit. Only then is anything decrypted. It checks what the start of the call
-- checked and what may have changed since: the hold, the kill switches, the grant.
--
-- What is refused for want of a grant leaves an audit row and a log line too. A worker that has lost the run, or finds its
-- call settled, writes nothing. Where the audit row cannot be written nothing else is: the error says so with a state of
-- its own.
create or replace function acquire_capability(
  p_runs uuid[], p_epochs bigint[], p_leases uuid[], p_calls uuid[], p_capabilities text[], p_blocking boolean
) returns table (run_id uuid, outcome text, detail text)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked   uuid[] := lock_runs(p_runs, p_blocking);
  held     uuid[];
  calls    uuid[];
  wanted   text[];
  outcomes text[];
  details  text[];
begin
  perform lock_policies(locked);

  select array_agg(n.run), array_agg(n.call), array_agg(n.capability), array_agg(v.outcome),
         array_agg(case v.outcome when 'killed' then p.killed end)
    into held, calls, wanted, outcomes, details
    from unnest(p_runs, p_epochs, p_leases, p_calls, p_capabilities) n (run, epoch, lease, call, capability)
    join runs r              on r.id = n.run
    join policy_of(locked) p on p.run_id = r.id
    left join tool_calls c   on c.id = n.call and c.run_id = r.id
    left join capability_leases l on l.call_id = c.id and l.capability = n.capability
   cross join lateral (
         select case
                  when r.epoch <> n.epoch or r.lease_id is distinct from n.lease        then 'lease_lost'
                  when c.id is null or c.status <> 'executing' or c.epoch <> r.epoch    then 'settled'
                  when p.killed is not null                                             then 'killed'
                  when n.capability <> all (c.requires)                                 then 'not_required'
                  when n.capability <> all (r.grants) or l.revoked_at is not null       then 'not_granted'
                  when l.call_id is null                                                then 'acquired'
                  else 'renewed'
                end as outcome) v
   where r.id = any (locked);

  begin
    insert into audit (workspace_id, actor, action, run_id, call_id, subject, details)
    select r.workspace_id, 'run:' || r.id,
           case when n.outcome in ('acquired', 'renewed') then 'capability.' || n.outcome else 'capability.refused' end,
           r.id, n.call, n.capability,
           case when n.outcome in ('not_required', 'not_granted') then json_build_object('code', n.outcome) end
      from unnest(held, calls, wanted, outcomes) n (run, call, capability, outcome)
      join runs r on r.id = n.run
     where n.outcome in ('acquired', 'renewed', 'not_required', 'not_granted');
  exception when others then
    raise exception 'the audit row could not be written: %', sqlerrm using errcode = 'CSAUD';
  end;

  insert into capability_leases (call_id, capability, run_id, acquired_at, expires_at)
  select n.call, n.capability, n.run, clock_timestamp(), clock_timestamp() + interval '5 minutes'
    from unnest(held, calls, wanted, outcomes) n (run, call, capability, outcome)
   where n.outcome in ('acquired', 'renewed')
      on conflict (call_id, capability) do update
     set acquired_at = excluded.acquired_at, expires_at = excluded.expires_at;

  insert into run_log (run_id, seq, kind, call_id, actor, content)
  select r.id, r.last_seq + 1,
         case when n.outcome in ('acquired', 'renewed') then 'capability.' || n.outcome else 'capability.refused' end,
         n.call, 'run:' || r.id,
         to_json(case when n.outcome in ('acquired', 'renewed') then n.outcome else 'refused' end || ' ' || n.capability)::text
    from unnest(held, calls, wanted, outcomes) n (run, call, capability, outcome)
    join runs r on r.id = n.run
   where n.outcome in ('acquired', 'renewed', 'not_required', 'not_granted');

  update runs r
     set last_seq = r.last_seq + 1
    from unnest(held, outcomes) n (run, outcome)
   where r.id = n.run and n.outcome in ('acquired', 'renewed', 'not_required', 'not_granted');

  return query
  select n.run, n.outcome, n.detail from unnest(held, outcomes, details) n (run, outcome, detail);
end
$$;
