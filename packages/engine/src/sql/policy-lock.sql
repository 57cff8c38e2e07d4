-- The number of the advisory lock that stands for a scope's policy. Two scopes of one number would only wait for each other.
create or replace function policy_lock(p_scope_id uuid) returns bigint
language sql immutable as $$
  select hashtextextended('policy of ' || p_scope_id, 0)
$$;
