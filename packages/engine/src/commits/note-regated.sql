-- How far the open approvals of a change of policy have been judged again: from p_next on there are more. Where there are
-- none the change is done, but for one more pass over it a few seconds after it was made: a turn that was judged under
-- the older policy may have been recorded while the first pass went by.
create or replace function note_regated(p_id bigint, p_next uuid, p_again_after_ms bigint) returns void
language plpgsql volatile as $$
begin
  if p_next is not null then
    update policy_changes c set next_id = p_next, taken_until = null where c.id = p_id;
    return;
  end if;

  delete from policy_changes c where c.id = p_id and c.at < clock_timestamp() - p_again_after_ms * interval '1 millisecond';
  if not found then
    update policy_changes c set next_id = null, taken_until = c.at + p_again_after_ms * interval '1 millisecond' where c.id = p_id;
  end if;
end
$$;
