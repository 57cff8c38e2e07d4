-- How many votes there are for the same answer and choice as a person's own, that one included: those of people who still
-- have a say. Neither an earlier vote of the same person nor one on the same say is counted beside it. (The setting keeps the
-- planner from copying this into statements that seldom need it.)
create or replace function count_votes(p_approval uuid, p_user uuid, p_say_of uuid, p_answer text, p_choice text) returns int
language sql stable set enable_seqscan = off as $$
  select 1 + count(*)::int
    from votes v
   where v.approval_id = p_approval and v.user_id <> p_user and v.say_of <> p_say_of and v.answer = p_answer and v.choice = p_choice
     and has_say(p_approval, v.user_id, v.say_of, v.voted_at)
$$;
