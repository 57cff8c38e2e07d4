-- What is stored of the policy that a run, or without one a definition or a workspace, is judged under: the live rules of
-- its scopes, their dials and approval policies, switches of tools, and the pinned definitions of tools. What has expired
-- is left out by the clock that commits go by. Written so that the planner takes it into the caller's query.
create or replace function stored_policy(p_workspace uuid, p_definition uuid, p_run uuid)
returns table (policy json)
language sql stable as $$
  select json_build_object(
           'rules', coalesce((
             select json_agg(json_build_object('id', u.id, 'scope', u.scope, 'targetKind', u.target_kind, 'targetName', u.target_name,
                                               'mode', u.mode, 'isLocked', u.is_locked, 'entries', u.entries,
                                               'isRemembered', u.is_remembered, 'definitionHash', u.definition_hash,
                                               'updatedAt', u.updated_at, 'expiresAt', u.expires_at)
                             order by u.id)
               from rules u
              where u.scope_id in ('00000000-0000-0000-0000-000000000000', p_workspace, p_definition, p_run)
                and u.revoked_at is null and (u.expires_at is null or u.expires_at > clock_timestamp())), '[]'),
           'values', coalesce((
             select json_agg(json_build_object('scope', v.scope, 'softened', v.softened,
                                               'dial', case when v.dial_expires_at is null or v.dial_expires_at > clock_timestamp()
                                                            then v.dial_level end,
                                               'dialExpiresAt', v.dial_expires_at, 'isDialLocked', v.is_dial_locked,
                                               -- For as long as the dial beside it: without one, `none` lets everything run.
                                               'approvalPolicy', case when v.approval_policy = 'none' and v.dial_expires_at <= clock_timestamp()
                                                                      then null else v.approval_policy end,
                                               'isApprovalPolicyLocked', v.is_approval_policy_locked))
               from policies v
              where v.scope_id in ('00000000-0000-0000-0000-000000000000', p_workspace, p_definition, p_run)
                and (v.dial_level is not null or v.approval_policy is not null or v.softened is not null)), '[]'),
           'switches', coalesce((
             select json_agg(json_build_object('scope', w.kind, 'name', w.name))
               from tool_switches w where w.scope_id in ('00000000-0000-0000-0000-000000000000', p_workspace)), '[]'),
           'pins', coalesce((
             select json_agg(json_build_object('tool', t.tool, 'definitionHash', t.definition_hash))
               from tool_pins t where t.workspace_id = p_workspace), '[]'))
$$;
