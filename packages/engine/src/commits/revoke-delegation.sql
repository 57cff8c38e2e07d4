-- A say that was handed over is taken back, by whoever gave it, whoever was given it, or an administrator. What was decided
-- on it counts no longer where the call has not begun.
create or replace function revoke_delegation(p_id uuid, p_workspace uuid, p_user uuid, p_way text)
returns table (outcome text)
language plpgsql volatile as $$
declare
  found text;
begin
  perform 1 from delegations d where d.id = p_id for no key update;

  select case
           when d.id is null                                              then 'not_found'
           when p_user not in (d.from_user, d.to_user) and u.role <> 'admin' then 'forbidden'
           when d.revoked_at is not null or d.expires_at <= clock_timestamp() then 'over_already'
           else 'revoked'
         end
    into found
    from users u
    left join delegations d on d.id = p_id and d.workspace_id = u.workspace_id
   where u.id = p_user and u.workspace_id = p_workspace and u.disabled_at is null;

  if found = 'revoked' then
    update delegations d set revoked_at = clock_timestamp(), revoked_by = p_user where d.id = p_id;

    insert into audit (workspace_id, actor, action, subject, details)
    select p_workspace, 'user:' || p_user, 'say.taken_back', p_id::text,
           json_build_object('from', d.from_user, 'to', d.to_user, 'way', p_way)
      from delegations d
     where d.id = p_id;
  end if;
  return query select coalesce(found, 'forbidden');
end
$$;
