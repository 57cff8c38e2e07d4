-- A directory may be written in several ways (`Payroll`, `payroll`), and what closes one must close them all. So each row of
-- `directories` is a spelling, and the spellings of one directory have one key: the slugs of its parts. Rules name a
-- spelling that is there and hold for the key. The program writes the keys (`directoryKeyOf`); those of what stands already
-- are made here, and made anew when the directory is written in again.

alter table directories add column key text;

insert into directories (workspace_id, dir)
select distinct workspace_id, dir from access_rules where dir is not null
    on conflict do nothing;

update directories
   set key = (select coalesce(string_agg(coalesce(nullif(left(trim(both '-' from regexp_replace(folded, '[^[:alnum:]]+', '-', 'g')), 100), ''),
                                                  folded), '/' order by n), '')
                from (select n, lower(normalize(trim(part), NFKC)) as folded
                        from unnest(string_to_array(dir, '/')) with ordinality as parts (part, n)
                       where trim(part) <> '') as p);

alter table directories alter column key set not null;
create index directories_key on directories (workspace_id, key);

alter table access_rules add foreign key (workspace_id, dir) references directories (workspace_id, dir);

-- What the nearest rule lets a person do in a directory, by its key: also in one that is not there yet. Of two rules for
-- spellings of one directory the stricter counts.
create function directory_level(p_workspace_id uuid, p_user_id uuid, p_key text) returns text
language sql stable as $$
  select coalesce(
    (select r.level
       from access_rules r
       join directories n on n.workspace_id = r.workspace_id and n.dir = r.dir
      where r.workspace_id = p_workspace_id
        and (r.user_id = p_user_id or r.user_id is null)
        and (n.key = '' or n.key = p_key or starts_with(p_key, n.key || '/'))
      order by length(n.key) desc, r.user_id is null, array_position('{none,read,write}', r.level)
      limit 1), 'write')
$$;

-- The directories in which a person lacks what is needed, `read` or `write`. As `directory_level` says of each, which is
-- not called here: a call for each of many directories costs more than all the rest.
create or replace function closed_directories(p_workspace_id uuid, p_user_id uuid, p_need text) returns setof text
language sql stable as $$
  select d.dir
    from directories d
   where d.workspace_id = p_workspace_id
     and exists (select from access_rules r where r.workspace_id = p_workspace_id and r.dir is not null)
     and coalesce(
           (select r.level
              from access_rules r
              join directories n on n.workspace_id = r.workspace_id and n.dir = r.dir
             where r.workspace_id = p_workspace_id
               and (r.user_id = p_user_id or r.user_id is null)
               and (n.key = '' or n.key = d.key or starts_with(d.key, n.key || '/'))
             order by length(n.key) desc, r.user_id is null, array_position('{none,read,write}', r.level)
             limit 1), 'write') = any (case p_need when 'write' then '{none,read}'::text[] else '{none}' end)
$$;

create or replace function closing_rules(p_workspace_id uuid, p_page_id uuid) returns uuid[]
language sql stable as $$
  select array(
    select r.id
      from pages p
      join directories d on d.workspace_id = p.workspace_id and d.dir = p.dir
      join access_rules r on r.workspace_id = p_workspace_id
      left join directories n on n.workspace_id = r.workspace_id and n.dir = r.dir
     where p.id = p_page_id
       and (r.page_id = p.id or n.key = '' or n.key = d.key or starts_with(d.key, n.key || '/'))
     order by r.id)
$$;

-- The pages that the rules close to a person, removed ones among them.
create function closed_pages(p_workspace_id uuid, p_user_id uuid, p_need text) returns setof uuid
language sql stable rows 100 as $$
  select p.id
    from closed_directories(p_workspace_id, p_user_id, p_need) as c (dir)
    join pages p on p.workspace_id = p_workspace_id and p.dir = c.dir
   where p.id not in (select r.page_id from pages_with_rules(p_workspace_id, p_user_id, p_need) r where r.is_open)
  union all
  select r.page_id from pages_with_rules(p_workspace_id, p_user_id, p_need) r where not r.is_open
$$;

-- A slug says what the title says and nothing else: `budget-2` would tell of a page that one may not see.
alter table pages drop constraint pages_workspace_id_dir_slug_key;
create index pages_dir on pages (workspace_id, dir, slug);

-- A text that was captured already, where its capture is closed to whoever captures it again, is captured anew for that
-- person alone; `kept_for` is null for the capture that all share.
alter table captures add column kept_for uuid;
alter table captures drop constraint captures_workspace_id_url_key_hash_key;
alter table captures add unique nulls not distinct (workspace_id, url_key, hash, kept_for);
