-- A change of policy whose open approvals are still to be judged again is taken in hand for a while, the oldest first; what
-- another worker has in hand is passed over. Nothing to do costs one look at an empty table.
create or replace function take_policy_change(p_lease_ms bigint)
returns table (id bigint, scope_id uuid, workspace_id uuid, tools text[], next_id uuid)
language sql volatile as $$
  update policy_changes c
     set taken_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
   where c.id = (select n.id
                   from policy_changes n
                  where n.taken_until is null or n.taken_until < clock_timestamp()
                  order by n.id
                  limit 1
                    for update skip locked)
  returning c.id, c.scope_id, c.workspace_id, c.tools, c.next_id
$$;
