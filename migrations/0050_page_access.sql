-- Who may read and change which directories and pages. Nothing is restricted until a rule says so; a rule for a directory
-- holds for all below it, the nearest one counts, a rule of a page before any of a directory, and of two in one place the
-- one for the person before the one for everybody.

create table directories (
  workspace_id  uuid  not null references workspaces,
  dir           text  not null,
  primary key (workspace_id, dir)
);

insert into directories (workspace_id, dir) select distinct workspace_id, dir from pages;

-- No page stands in a directory that the rules cannot name.
alter table pages add foreign key (workspace_id, dir) references directories (workspace_id, dir);

-- Exactly one of `dir` and `page_id`; `user_id` null is everybody.
create table access_rules (
  id            uuid        primary key,
  workspace_id  uuid        not null references workspaces,
  dir           text,
  page_id       uuid,
  user_id       uuid        references users,
  level         text        not null check (level in ('none', 'read', 'write')),
  created_by    uuid        not null,
  created_at    timestamptz not null default clock_timestamp(),
  unique nulls not distinct (workspace_id, dir, page_id, user_id),
  foreign key (workspace_id, page_id) references pages (workspace_id, id),
  check ((dir is null) <> (page_id is null))
);

-- The directories in which a person lacks what is needed, `read` or `write`.
create function closed_directories(p_workspace_id uuid, p_user_id uuid, p_need text) returns setof text
language sql stable as $$
  select d.dir
    from directories d
   where d.workspace_id = p_workspace_id
     and exists (select from access_rules r where r.workspace_id = p_workspace_id and r.dir is not null)
     and coalesce(
           (select r.level
              from access_rules r
             where r.workspace_id = p_workspace_id
               and (r.user_id = p_user_id or r.user_id is null)
               and (r.dir = '' or r.dir = d.dir or starts_with(d.dir, r.dir || '/'))
             order by length(r.dir) desc, r.user_id is null
             limit 1), 'write') = any (case p_need when 'write' then '{none,read}'::text[] else '{none}' end)
$$;

-- The pages with rules of their own, and whether these give a person what is needed.
create function pages_with_rules(p_workspace_id uuid, p_user_id uuid, p_need text)
returns table (page_id uuid, is_open boolean)
language sql stable as $$
  select distinct on (r.page_id)
         r.page_id, r.level = any (case p_need when 'write' then '{write}'::text[] else '{read,write}' end)
    from access_rules r
   where r.workspace_id = p_workspace_id and r.page_id is not null and (r.user_id = p_user_id or r.user_id is null)
   order by r.page_id, r.user_id is null
$$;

-- The rules that close something and hold for a page: two pages with the same ones have the same readers.
create function closing_rules(p_workspace_id uuid, p_page_id uuid) returns uuid[]
language sql stable as $$
  select array(
    select r.id
      from access_rules r join pages p on p.id = p_page_id
     where r.workspace_id = p_workspace_id
       and (r.page_id = p.id or r.dir = '' or r.dir = p.dir or starts_with(p.dir, r.dir || '/'))
     order by r.id)
$$;
