-- Takes back what the given scopes and the scopes inside them had remembered for the given tools. The caller has moved the
-- policy version of the given scope, which every run inside it is judged under.
create or replace function forget_rules(p_scope_ids uuid[], p_scopes text[], p_covers text[], p_by uuid[], p_users uuid[]) returns void
language plpgsql volatile as $$
begin
  -- By id, so that two that overlap do not wait for each other.
  perform 1
     from rules r
    where r.id in (
            select o.id
              from unnest(p_scope_ids, p_scopes, p_covers) n (scope_id, scope, covers)
              join rules o
                on o.revoked_at is null and o.is_remembered
               and (n.covers is null or o.target_kind <> 'tool' or o.target_name = any (string_to_array(n.covers, ',')))
              left join runs r on o.scope = 'run' and r.id = o.scope_id
             where o.scope_id = n.scope_id
                or n.scope = 'app'
                or (n.scope = 'workspace' and o.workspace_id = n.scope_id)
                or (n.scope = 'definition' and r.definition_id = n.scope_id))
    order by r.id
      for no key update;

  update rules r
     set revoked_at = clock_timestamp(), revoked_by = coalesce('user:' || n.user_id, 'system:configuration'),
         revoked_reason = 'tightened by rule ' || n.by_rule, version = r.version + 1
    from unnest(p_scope_ids, p_scopes, p_covers, p_by, p_users) n (scope_id, scope, covers, by_rule, user_id)
   where r.revoked_at is null and r.is_remembered
     and (n.covers is null or r.target_kind <> 'tool' or r.target_name = any (string_to_array(n.covers, ',')))
     and (r.scope_id = n.scope_id
          or n.scope = 'app'
          or (n.scope = 'workspace' and r.workspace_id = n.scope_id)
          or (n.scope = 'definition' and r.scope = 'run'
              and exists (select 1 from runs u where u.id = r.scope_id and u.definition_id = n.scope_id)));
end
$$;
