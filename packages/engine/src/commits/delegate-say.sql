-- A person hands their say to another, for all they may decide or for one approval, until a moment. Nothing is decided by
-- it, and it counts only where the approver rule of an approval lets it and only while the giver is still among those whom
-- the rule names: that is judged with each decision. The audit says who gave what to whom.
create or replace function delegate_say(
  p_id uuid, p_workspace uuid, p_from uuid, p_to uuid, p_approval uuid, p_until timestamptz, p_way text
) returns table (outcome text)
language plpgsql volatile as $$
declare
  found text;
begin
  select case
           when p_approval is null and (f.role not in ('approver', 'admin') or f.disabled_at is not null) then 'forbidden'
           when p_approval is not null and a.id is null                                                then 'not_found'
           when p_approval is not null and not has_say(a.id, f.id, f.id, clock_timestamp())             then 'forbidden'
           when t.id is null or t.disabled_at is not null or t.is_service                              then 'unknown_person'
           when t.id = f.id                                                                            then 'to_oneself'
           when p_until <= clock_timestamp()                                                           then 'over_already'
           when p_approval is null                                                                     then 'delegated'
           when a.approver_rule ->> 'delegation' is distinct from 'allow'                              then 'not_delegable'
           when a.status <> 'pending'                                                                  then 'settled'
           else 'delegated'
         end
    into found
    from users f
    left join users t     on t.id = p_to and t.workspace_id = f.workspace_id
    left join approvals a on a.id = p_approval and a.workspace_id = f.workspace_id
   where f.id = p_from and f.workspace_id = p_workspace;

  if found = 'delegated' then
    insert into delegations (id, workspace_id, from_user, to_user, approval_id, expires_at)
    values (p_id, p_workspace, p_from, p_to, p_approval, p_until);

    insert into audit (workspace_id, actor, action, run_id, subject, details)
    values (p_workspace, 'user:' || p_from, 'say.delegated', (select a.run_id from approvals a where a.id = p_approval), p_id::text,
            json_build_object('to', p_to, 'approval', p_approval, 'until', p_until, 'way', p_way));
  end if;
  return query select coalesce(found, 'forbidden');
end
$$;
