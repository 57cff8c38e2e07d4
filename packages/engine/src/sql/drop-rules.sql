-- Takes back rules of one scope that the caller has locked and found live: the policy version of their scope moves, the
-- audit says who and why, and workers judge the open approvals of the tools they covered again.
create or replace function drop_rules(p_rules uuid[], p_by text, p_reason text, p_way text, p_covers text[]) returns void
language plpgsql volatile as $$
begin
  perform move_policies(array_agg(r.scope), array_agg(r.scope_id), array_agg(r.workspace_id), array_agg(n.covers))
     from unnest(p_rules, p_covers) n (rule, covers)
     join rules r on r.id = n.rule;

  update rules r
     set revoked_at = clock_timestamp(), revoked_by = p_by, revoked_reason = p_reason, version = r.version + 1
   where r.id = any (p_rules);

  insert into audit (workspace_id, actor, action, run_id, subject, details)
  select coalesce(r.workspace_id, '00000000-0000-0000-0000-000000000000'), p_by, 'rule.revoked',
         case r.scope when 'run' then r.scope_id end, r.id::text,
         json_build_object('scope', r.scope || ':' || r.scope_id, 'target', rtrim(r.target_kind || ':' || r.target_name, ':'),
                           'mode', r.mode, 'entries', r.entries, 'locked', r.is_locked, 'expiresAt', r.expires_at,
                           'isRemembered', r.is_remembered, 'reason', p_reason, 'way', p_way)
    from rules r
   where r.id = any (p_rules);
end
$$;
