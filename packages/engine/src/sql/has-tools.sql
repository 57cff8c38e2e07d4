-- True where each call of a run that is to be gone on with is of one of these tools.
create or replace function has_tools(p_run uuid, p_tools text[]) returns boolean
language sql stable as $$
  select not exists (
         select 1 from tool_calls c
          where c.run_id = p_run
            and c.turn_seq = (select max(l.turn_seq) from tool_calls l where l.run_id = p_run)
            and c.status in ('requested', 'executing') and c.tool <> all (p_tools))
$$;
