-- On whose say a person may decide an approval now: their own before any that was handed to them, and of those first one
-- that no other vote has used. Null where they have none.
create or replace function say_of(p_approval uuid, p_user uuid) returns uuid
language sql stable as $$
  select s.say_of
    from (select p_user as say_of
           union
          select d.from_user from delegations d where d.to_user = p_user and d.revoked_at is null) s
   where has_say(p_approval, p_user, s.say_of, clock_timestamp())
   order by s.say_of <> p_user,
            exists (select 1 from votes v where v.approval_id = p_approval and v.say_of = s.say_of and v.user_id <> p_user),
            s.say_of
   limit 1
$$;
