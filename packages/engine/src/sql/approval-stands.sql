-- Whether those who let a call run are still entitled to: whoever decided, or as many of the votes as its quorum asks for.
-- For approvals with a rule of their own; where the usual rule holds, the role of who decided says it.
create or replace function approval_stands(p_approval uuid) returns boolean
language sql stable as $$
  select case when coalesce((a.approver_rule ->> 'quorum')::int, 1) > 1
              then (select count(*)
                      from votes d
                      join votes v on v.approval_id = a.id and v.answer = d.answer and v.choice = d.choice
                     where d.approval_id = a.id and d.user_id = a.decided_by
                       and has_say(a.id, v.user_id, v.say_of, v.voted_at)) >= (a.approver_rule ->> 'quorum')::int
              else has_say(a.id, a.decided_by, coalesce(a.decided_for, a.decided_by), a.decided_at)
         end
    from approvals a
   where a.id = p_approval
$$;
