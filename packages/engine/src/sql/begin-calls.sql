-- Starts calls whose every condition has just been checked under the locks: executing under the holder's epoch, the
-- effect claimed, the approval consumed, each required capability acquired with its lease, audit row and log line.
-- Returns the log lines written per run; the caller's last statement takes their numbers. Where the audit row cannot be
-- written nothing is begun: the error says so with a state of its own.
--   p_epochs: the epoch each call executes under (a claim begins calls under the epoch it is about to write).
create or replace function begin_calls(p_calls uuid[], p_epochs bigint[])
returns table (run_id uuid, lines int)
language plpgsql volatile as $$
#variable_conflict use_column
begin
  update tool_calls c
     set status           = 'executing',
         attempt          = c.attempt + 1,
         epoch            = n.epoch,
         has_effect_claim = c.effect in ('idempotent', 'once'),
         -- A transactional tool has worked already, since its transaction began.
         started_at       = case when c.effect = 'transactional' then now() else clock_timestamp() end
    from unnest(p_calls, p_epochs) n (call_id, epoch)
   where c.id = n.call_id and c.id = any (p_calls);

  update approvals a
     set consumed_at = coalesce(a.consumed_at, clock_timestamp())
   where a.id = any (array(select c.approval_id from tool_calls c where c.id = any (p_calls)));

  if not exists (select 1 from tool_calls c where c.id = any (p_calls) and c.requires <> '{}') then
    return;
  end if;

  insert into capability_leases (call_id, capability, run_id, acquired_at, expires_at)
  select c.id, q.capability, c.run_id, clock_timestamp(), clock_timestamp() + interval '5 minutes'
    from tool_calls c
   cross join unnest(c.requires) q (capability)
   where c.id = any (p_calls)
      on conflict (call_id, capability) do update
     set acquired_at = excluded.acquired_at, expires_at = excluded.expires_at;

  begin
    insert into audit (workspace_id, actor, action, run_id, call_id, subject)
    select r.workspace_id, 'run:' || r.id, 'capability.acquired', r.id, c.id, q.capability
      from tool_calls c
     cross join lateral (select o.id, o.workspace_id, o.last_seq from runs o where o.id = c.run_id limit 1) r
     cross join unnest(c.requires) q (capability)
     where c.id = any (p_calls);
  exception when others then
    raise exception 'the audit row could not be written: %', sqlerrm using errcode = 'CSAUD';
  end;

  return query
  with acquired as (
    insert into run_log (run_id, seq, kind, call_id, actor, content)
    select r.id, r.last_seq + row_number() over (partition by r.id order by c.position, q.capability),
           'capability.acquired', c.id, 'run:' || r.id, to_json('acquired ' || q.capability)::text
      from tool_calls c
     cross join lateral (select o.id, o.workspace_id, o.last_seq from runs o where o.id = c.run_id limit 1) r
     cross join unnest(c.requires) q (capability)
     where c.id = any (p_calls)
    returning run_id)
  select a.run_id, count(*)::int from acquired a group by a.run_id;
end
$$;
