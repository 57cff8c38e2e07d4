-- What runs unasked in a scope, and which calls ask there at all. Each of the two is changed where p_sets_… says so; null
-- takes the entry away, and the next layer out decides. The scope's policy version moves with a change, and workers judge
-- its open approvals again. A dial that is over is taken away with any change: an approval policy that is set now is not
-- for as long as that dial.
create or replace function set_dial(
  p_scope text, p_scope_id uuid, p_workspace uuid, p_user uuid, p_way text,
  p_sets_dial boolean, p_level text, p_expires_at timestamptz, p_is_dial_locked boolean,
  p_sets_policy boolean, p_policy text, p_is_policy_locked boolean, p_seen_version bigint
) returns table (outcome text, version bigint, waiting int)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  before  policies;
  is_over boolean;
begin
  if not lock_scope(p_scope, p_scope_id, p_workspace) then
    return query select 'not_found', null::bigint, 0;
    return;
  end if;

  select * into before from policies p where p.scope_id = p_scope_id;
  if p_seen_version <> coalesce(before.version, 0) then
    return query select 'stale', coalesce(before.version, 0), 0;
    return;
  end if;
  is_over := coalesce(before.dial_expires_at <= clock_timestamp(), false);
  if not (p_sets_dial and (before.dial_level, before.dial_expires_at, coalesce(before.is_dial_locked, false))
                          is distinct from (p_level, p_expires_at, p_is_dial_locked))
     and not (p_sets_policy and (is_over and not p_sets_dial
                                 or (before.approval_policy, coalesce(before.is_approval_policy_locked, false))
                                    is distinct from (p_policy, p_is_policy_locked))) then
    return query select 'unchanged', coalesce(before.version, 0), 0;
    return;
  end if;

  perform move_policies(array[p_scope], array[p_scope_id], array[p_workspace], array[null::text]);

  update policies p
     set dial_level                = case when p_sets_dial   then p_level            when not is_over then p.dial_level end,
         dial_expires_at           = case when p_sets_dial   then p_expires_at       when not is_over then p.dial_expires_at end,
         is_dial_locked            = case when p_sets_dial   then p_is_dial_locked   else p.is_dial_locked and not is_over end,
         approval_policy           = case when p_sets_policy then p_policy           else p.approval_policy end,
         is_approval_policy_locked = case when p_sets_policy then p_is_policy_locked else p.is_approval_policy_locked end
   where p.scope_id = p_scope_id;

  insert into audit (workspace_id, actor, action, run_id, subject, details)
  select coalesce(p_workspace, '00000000-0000-0000-0000-000000000000'), coalesce('user:' || p_user, 'system:configuration'),
         'dial.set', case p_scope when 'run' then p_scope_id end, p_scope || ':' || p_scope_id,
         json_build_object('dial', p.dial_level, 'expiresAt', p.dial_expires_at, 'dialLocked', p.is_dial_locked,
                           'approvalPolicy', p.approval_policy, 'approvalPolicyLocked', p.is_approval_policy_locked,
                           'dialBefore', before.dial_level, 'expiresAtBefore', before.dial_expires_at,
                           'dialLockedBefore', before.is_dial_locked, 'approvalPolicyBefore', before.approval_policy,
                           'approvalPolicyLockedBefore', before.is_approval_policy_locked, 'way', p_way)
    from policies p
   where p.scope_id = p_scope_id;

  return query
  select 'set', p.version, count_waiting(p_scope, p_scope_id, p_workspace, null) from policies p where p.scope_id = p_scope_id;
end
$$;
