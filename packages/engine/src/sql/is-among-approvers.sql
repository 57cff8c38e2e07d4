-- Whether an approver rule names a person, by role or by id. No rule is the usual one: approvers and administrators. Once
-- an approval was escalated, those of the escalation count as well.
create or replace function is_among_approvers(p_rule json, p_is_escalated boolean, p_user uuid, p_role text) returns boolean
language sql immutable as $$
  select coalesce(
           case when p_rule -> 'roles' is null and p_rule -> 'users' is null then p_role in ('approver', 'admin') end
           or (p_rule -> 'roles')::jsonb ? p_role
           or (p_rule -> 'users')::jsonb ? p_user::text
           or (p_is_escalated and ((p_rule -> 'escalation' -> 'to' -> 'roles')::jsonb ? p_role
                                   or (p_rule -> 'escalation' -> 'to' -> 'users')::jsonb ? p_user::text)),
           false)
$$;
