-- Whether an option is one of those that were offered: JSON text of a list of ids. (The setting
-- keeps the planner from copying this into statements that seldom need it.)
create or replace function is_offered(p_options text, p_option text) returns boolean
language sql immutable set enable_seqscan = off as $$
  select exists (select 1 from json_array_elements_text(p_options::json) o where o = p_option)
$$;
