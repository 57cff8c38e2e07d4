-- A run reads as its user, and its content is shown to the whole workspace: so what it was shown of pages and directories
-- that are closed to somebody is kept, and whoever may not read one of them does not read the run.

-- `run_id` is the root of a tree of runs: what one of them was shown goes up and down between them. It may be of a run that
-- was not started in the end, so it references nothing. Whatever gives the words of one run to another that is not of its
-- tree gives it these rows, too (`reads_to_note` with `p_runs`). `dir` is a key (directories.key). Exactly one of `page_id` and `dir`.
create table run_reads (
  run_id   uuid  not null,
  page_id  uuid  references pages,
  dir      text,
  unique nulls not distinct (run_id, page_id, dir),
  check ((page_id is null) <> (dir is null))
);

-- Of what a run was shown, that which is still to be kept: pages and directories that are closed to somebody now, and what
-- the runs behind `p_runs` were shown, whose words it was shown.
create function reads_to_note(p_workspace_id uuid, p_run_id uuid, p_pages uuid[], p_dirs text[], p_runs uuid[])
returns table (page_id uuid, dir text)
language sql stable rows 1 as $$
  select s.page_id, s.dir
    from (select p.id as page_id, null::text as dir
            from unnest(p_pages) p (id)
           where cardinality(closing_rules(p_workspace_id, p.id)) > 0
          union
          select null, d.key
            from unnest(p_dirs) d (key)
           where exists (select from access_rules r
                           join directories n on n.workspace_id = r.workspace_id and n.dir = r.dir
                          where r.workspace_id = p_workspace_id
                            and (n.key = '' or n.key = d.key or starts_with(d.key, n.key || '/')))
          union
          select x.page_id, x.dir
            from runs o join run_reads x on x.run_id = o.root_id
           where o.id = any (p_runs) and o.workspace_id = p_workspace_id) s
   where exists (select from access_rules r where r.workspace_id = p_workspace_id)
     and not exists (select from runs r join run_reads k on k.run_id = r.root_id
                      where r.id = p_run_id and k.page_id is not distinct from s.page_id and k.dir is not distinct from s.dir)
$$;

-- Those of the given runs that a person may not read: their trees were shown something that is closed to that person now.
-- As `directory_level` and `closed_pages` say, which are not called here: a run has read in few directories, and a workspace
-- may have thousands; and the rules of a person are read once.
create function closed_runs(p_workspace_id uuid, p_user_id uuid, p_runs uuid[]) returns setof uuid
language sql stable rows 1 as $$
  with shown as materialized (
    select r.id, x.page_id, coalesce(x.dir, d.key) as key
      from runs r
      join run_reads x on x.run_id = r.root_id
      left join pages p on p.id = x.page_id
      left join directories d on d.workspace_id = p.workspace_id and d.dir = p.dir
     where r.id = any (p_runs) and r.workspace_id = p_workspace_id),
  rules as materialized (
    select n.key, r.user_id, r.level
      from access_rules r
      join directories n on n.workspace_id = r.workspace_id and n.dir = r.dir
     where r.workspace_id = p_workspace_id and (r.user_id = p_user_id or r.user_id is null)
       and exists (select from shown)),
  places as materialized (
    select k.key,
           coalesce(
             (select r.level
                from rules r
               where r.key = '' or r.key = k.key or starts_with(k.key, r.key || '/')
               order by length(r.key) desc, r.user_id is null, array_position('{none,read,write}', r.level)
               limit 1), 'write') = 'none' as is_closed
      from (select distinct key from shown) k)
  select distinct s.id
    from shown s
    join places l on l.key = s.key
    left join pages_with_rules(p_workspace_id, p_user_id, 'read') o on o.page_id = s.page_id
   where case when o.page_id is null then l.is_closed else not o.is_open end
$$;

-- What a run wrote beside itself, such as a task's title, as a person may read it; `p_run_id` is null for what no run wrote.
create function open_text(p_workspace_id uuid, p_user_id uuid, p_run_id uuid, p_text text) returns text
language sql stable as $$
  select case when p_run_id is not null and exists (select closed_runs(p_workspace_id, p_user_id, array[p_run_id]))
              then '(closed to you)' else p_text end
$$;
