-- The same with the whole conversation.
create or replace function run_snapshot(p_ids uuid[])
returns table (run_id uuid, snapshot json)
language sql stable as $$
  select s.run_id, s.snapshot from run_snapshot(p_ids, 0) s
$$;
