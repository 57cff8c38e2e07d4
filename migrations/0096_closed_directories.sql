-- The rules of a person are read once and not anew for each directory: with thousands of directories that is most of what
-- a search costs.

create or replace function closed_directories(p_workspace_id uuid, p_user_id uuid, p_need text) returns setof text
language sql stable as $$
  with rules as materialized (
    select n.key, r.user_id, r.level
      from access_rules r
      join directories n on n.workspace_id = r.workspace_id and n.dir = r.dir
     where r.workspace_id = p_workspace_id and (r.user_id = p_user_id or r.user_id is null))
  select d.dir
    from directories d
   where d.workspace_id = p_workspace_id
     and exists (select from rules)
     and coalesce(
           (select r.level
              from rules r
             where r.key = '' or r.key = d.key or starts_with(d.key, r.key || '/')
             order by length(r.key) desc, r.user_id is null, array_position('{none,read,write}', r.level)
             limit 1), 'write') = any (case p_need when 'write' then '{none,read}'::text[] else '{none}' end)
$$;

-- A key may be longer than what an index holds, and the directories of a workspace are read as a whole anyway.
drop index directories_key;
