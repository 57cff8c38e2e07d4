-- Whether a person may now decide an approval on the say of p_say_of: their own, or that of somebody who had handed it to
-- them at p_at and has not taken it back. Whoever started the run has no say where the rule forbids it, so neither has
-- anybody they handed it to, nor may they use another's. (The setting keeps the planner from copying this into statements
-- that seldom need it.)
create or replace function has_say(p_approval uuid, p_user uuid, p_say_of uuid, p_at timestamptz) returns boolean
language sql stable set enable_seqscan = off as $$
  select exists (
         select 1
           from approvals a
           join runs r  on r.id = a.run_id
           join users u on u.id = p_user and u.workspace_id = a.workspace_id and u.disabled_at is null
           join users s on s.id = p_say_of and s.workspace_id = a.workspace_id and s.disabled_at is null
          where a.id = p_approval
            and is_among_approvers(a.approver_rule, a.escalated_at is not null, s.id, s.role)
            and (a.approver_rule ->> 'selfApproval' is distinct from 'forbid' or r.started_by not in (u.id, s.id))
            and (u.id = s.id
                 or (a.approver_rule ->> 'delegation' = 'allow'
                     and exists (
                         select 1
                           from delegations d
                          where d.from_user = s.id and d.to_user = u.id and (d.approval_id is null or d.approval_id = a.id)
                            and d.revoked_at is null and d.created_at <= p_at and d.expires_at > p_at))))
$$;
