-- Of the approved calls of the given runs, those that may start with no further look from a worker: the policy they were
-- approved under still stands, what was approved is what would run, the run still holds every grant, whoever approved is
-- still entitled to, and the calling worker has this very tool. A transactional call starts in the commit of its result.
create or replace function startable_calls(p_ids uuid[], p_tools text[], p_definition_hashes text[])
returns table (call_id uuid)
language sql stable as $$
  select c.id
    from runs r
    join policy_of(p_ids) p on p.run_id = r.id
    join tool_calls c
      on c.run_id = r.id
     and c.turn_seq = (select max(l.turn_seq) from tool_calls l where l.run_id = r.id)
    join approvals a on a.id = c.approval_id
    join users u     on u.id = a.decided_by
    join unnest(p_tools, p_definition_hashes) w (tool, definition_hash)
      on w.tool = c.tool and w.definition_hash = c.definition_hash
   where r.id = any (p_ids)
     and c.status = 'requested'
     and c.effect <> 'transactional'
     and a.status = 'approved' and a.kind = 'approval' and a.consumed_at is null
     and a.args_hash = c.args_hash and a.definition_hash = c.definition_hash
     and a.policy_versions = p.versions and p.killed is null
     and u.role in ('approver', 'admin') and u.disabled_at is null
     and c.requires <@ r.grants
$$;
