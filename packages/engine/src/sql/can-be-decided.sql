-- Whether the workspace has enough people to decide what a run asks: as many as its approver rule wants, counting those whom
-- an escalation would add later, and not whoever started it where the rule forbids that.
create or replace function can_be_decided(p_run uuid) returns boolean
language sql stable as $$
  select coalesce(
         (select count(*)
            from users u
           where u.workspace_id = r.workspace_id and u.disabled_at is null
             and is_among_approvers(v.approvers, true, u.id, u.role)
             and (v.approvers ->> 'selfApproval' is distinct from 'forbid' or u.id <> r.started_by))
         >= coalesce((v.approvers ->> 'quorum')::int, 1), false)
    from runs r
    left join definition_versions v on v.definition_id = r.definition_id and v.version = r.definition_version
   where r.id = p_run
$$;
