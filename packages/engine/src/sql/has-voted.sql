-- Whether a person has voted this very thing already, on a say that still counts: who was handed another since votes anew. (The setting keeps the planner from copying this into statements that
-- seldom need it.)
create or replace function has_voted(p_approval uuid, p_user uuid, p_answer text, p_choice text, p_feedback text) returns boolean
language sql stable set enable_seqscan = off as $$
  select exists (
         select 1
           from votes v
          where v.approval_id = p_approval and v.user_id = p_user and v.answer = p_answer and v.choice = p_choice
            and v.feedback is not distinct from coalesce(p_feedback, v.feedback)
            and has_say(p_approval, v.user_id, v.say_of, v.voted_at))
$$;
