-- Of the approved calls of the given runs, those that may start with no further look from a worker: the policy they were
-- approved under still stands, what was approved is what would run, the run still holds every grant, whoever approved is
-- still entitled to, no denial beside it ends the run, and the calling worker has this very tool. A transactional call
-- starts in the commit of its result.
create or replace function startable_calls(p_ids uuid[], p_tools text[], p_definition_hashes text[])
returns table (call_id uuid)
language sql stable as $$
  select c.id
    from unnest(p_ids) n (id)
   cross join lateral (select r.id, r.grants, r.definition_id, r.definition_version from runs r where r.id = n.id limit 1) r
   cross join lateral policy_of(array[n.id]) p
   -- `offset 0`, like the limits, makes the planner go from the run to its rows, also with statistics of empty tables.
   cross join lateral (
         select t.*, bool_or(t.result_code = 'user_denied') over () as has_denied_sibling from tool_calls t
          where t.run_id = n.id and t.turn_seq = (select max(l.turn_seq) from tool_calls l where l.run_id = n.id)
         offset 0) c
   cross join lateral (select * from approvals v where v.id = c.approval_id limit 1) a
   cross join lateral (select * from users v where v.id = a.decided_by limit 1) u
   where exists (select 1 from unnest(p_tools, p_definition_hashes) w (tool, definition_hash)
                  where w.tool = c.tool and w.definition_hash = c.definition_hash)
     and c.status = 'requested'
     and c.effect <> 'transactional'
     and a.status = 'approved' and a.kind = 'approval' and a.consumed_at is null
     and a.args_hash = c.args_hash and a.definition_hash = c.definition_hash
     and a.policy_versions = p.versions and p.killed is null
     and a.edited_args is null and a.preconditions is null and a.options is null
     and case when a.approver_rule is null then u.role in ('approver', 'admin') and u.disabled_at is null else approval_stands(a.id) end
     and c.requires <@ r.grants
     and not (c.has_denied_sibling
              and exists (select 1 from definition_versions v
                           where v.definition_id = r.definition_id and v.version = r.definition_version
                             and v.spec ->> 'onDenial' = 'stop'))
$$;
