-- Writes rules in the commit of its caller, which has locked the runs of every run scope before. Afterwards each scope's
-- policy version has moved, so that no call judged before begins without another look; the audit says who wrote what in
-- place of what; and workers are told whose open approvals to judge again (`policy_changes`).
--
-- A written rule (not p_remembered) takes the place of the one its scope has for that target. A remembered one is added,
-- unless the very same is there. A rule that tightens its target takes back what that scope and the scopes inside it had
-- remembered for the tools it covers: whoever says ask must not be answered by an older "always allow".
--   p_entries: JSON, or null for a rule that holds for every unit.
--   p_covers:  the names of the tools a target covers, with commas; null where that is every tool.
create or replace function write_rules(
  p_ids uuid[], p_scopes text[], p_scope_ids uuid[], p_workspaces uuid[], p_target_kinds text[], p_target_names text[],
  p_modes text[], p_locked boolean[], p_entries text[], p_remembered boolean[], p_definition_hashes text[],
  p_expires_at timestamptz[], p_covers text[], p_approvals uuid[], p_users uuid[], p_way text
) returns void
language plpgsql volatile as $$
#variable_conflict use_column
declare
  tightness text[] := array['allow', 'allowlist', 'ask', 'off', 'deny'];
  moment    timestamptz := clock_timestamp();
  replaced  json;
begin
  -- The rows of the scopes are locked first and in the order of every commit: whoever writes rules of one scope waits here.
  perform move_policies(p_scopes, p_scope_ids, p_workspaces, p_covers);

  perform forget_rules(array_agg(n.scope_id), array_agg(n.scope), array_agg(n.covers), array_agg(n.id), array_agg(n.user_id))
     from unnest(p_ids, p_scopes, p_scope_ids, p_target_kinds, p_target_names, p_modes, p_remembered, p_covers, p_users)
          n (id, scope, scope_id, target_kind, target_name, mode, is_remembered, covers, user_id)
     left join rules o
       on o.scope_id = n.scope_id and o.target_kind = n.target_kind and o.target_name = n.target_name
      and o.revoked_at is null and not o.is_remembered
    where not n.is_remembered
      and array_position(tightness, n.mode) > coalesce(array_position(tightness, o.mode), 1);

  select json_object_agg(o.id, json_build_object('mode', o.mode, 'entries', o.entries, 'locked', o.is_locked, 'expiresAt', o.expires_at))
    into replaced
    from unnest(p_scope_ids, p_target_kinds, p_target_names, p_remembered) n (scope_id, target_kind, target_name, is_remembered)
    join rules o
      on o.scope_id = n.scope_id and o.target_kind = n.target_kind and o.target_name = n.target_name
     and o.revoked_at is null and not o.is_remembered
   where not n.is_remembered;

  insert into rules as r (id, scope, scope_id, workspace_id, target_kind, target_name, mode, is_locked, entries, is_remembered,
                          definition_hash, expires_at, approval_id, created_by)
  select n.id, n.scope, n.scope_id, n.workspace, n.target_kind, n.target_name, n.mode, n.is_locked, n.entries::json,
         n.is_remembered, n.definition_hash, n.expires_at, n.approval, n.user_id
    from (select m.*, row_number() over (partition by m.scope_id, m.target_kind, m.target_name, m.is_remembered, m.entries,
                                                      m.definition_hash, m.expires_at order by m.id) as nth
            from unnest(p_ids, p_scopes, p_scope_ids, p_workspaces, p_target_kinds, p_target_names, p_modes, p_locked, p_entries,
                        p_remembered, p_definition_hashes, p_expires_at, p_approvals, p_users)
                 m (id, scope, scope_id, workspace, target_kind, target_name, mode, is_locked, entries, is_remembered,
                    definition_hash, expires_at, approval, user_id)) n
   where not (n.is_remembered and n.nth > 1)
     and not (n.is_remembered and exists (
           select 1 from rules o
            where o.scope_id = n.scope_id and o.target_kind = n.target_kind and o.target_name = n.target_name
              and o.is_remembered and o.revoked_at is null
              and o.entries::text is not distinct from n.entries and o.definition_hash is not distinct from n.definition_hash
              and o.expires_at is not distinct from n.expires_at))
      on conflict (scope_id, target_kind, target_name) where revoked_at is null and not is_remembered do update
     set mode = excluded.mode, is_locked = excluded.is_locked, entries = excluded.entries, definition_hash = excluded.definition_hash,
         expires_at = excluded.expires_at, version = r.version + 1, updated_at = moment, created_by = excluded.created_by;

  insert into audit (workspace_id, actor, action, run_id, subject, details)
  select coalesce(n.workspace, '00000000-0000-0000-0000-000000000000'),
         coalesce('user:' || n.user_id, 'system:configuration'), 'rule.written', case n.scope when 'run' then n.scope_id end, r.id::text,
         json_build_object('scope', n.scope || ':' || n.scope_id, 'target', rtrim(n.target_kind || ':' || n.target_name, ':'),
                           'mode', r.mode, 'entries', r.entries, 'locked', r.is_locked, 'expiresAt', r.expires_at,
                           'before', replaced -> r.id::text, 'isRemembered', n.is_remembered, 'version', r.version,
                           'approval', n.approval, 'way', p_way)
    from unnest(p_ids, p_scopes, p_scope_ids, p_workspaces, p_target_kinds, p_target_names, p_remembered, p_approvals, p_users)
         n (id, scope, scope_id, workspace, target_kind, target_name, is_remembered, approval, user_id)
    join rules r
      on r.revoked_at is null
     and case when n.is_remembered then r.id = n.id
              else r.scope_id = n.scope_id and r.target_kind = n.target_kind and r.target_name = n.target_name and not r.is_remembered end;
end
$$;
