-- The files that a page was imported from or stands at when it is written out, also where it stood before it was moved: by
-- them a file finds its page again. `imported_revision` is the revision that this file made or agreed with when it was
-- imported last, null where it never was; `imported_source` what it held, where the page became another by it.
create table page_files (
  workspace_id       uuid  not null,
  page_id            uuid  not null,
  path               text  not null,
  imported_revision  int,
  imported_source    text,
  foreign key (workspace_id, page_id) references pages (workspace_id, id)
);

-- A path may be longer than what an index holds.
create unique index page_files_path on page_files (workspace_id, md5(path), page_id);
create index page_files_page on page_files (page_id);

-- Each file of a page is a Markdown file.
update pages set file_name = file_name || '.md' where file_name !~* '.\.md$';

insert into page_files (workspace_id, page_id, path, imported_revision, imported_source)
select p.workspace_id, p.id, concat_ws('/', nullif(coalesce(c.after::json #>> '{page,dir}', p.dir), ''), p.file_name),
       p.imported_revision, p.imported_source
  from pages p left join commands c on c.page_id = p.id and c.revision = 1
 where p.file_name is not null;

insert into page_files (workspace_id, page_id, path)
select p.workspace_id, p.id, concat_ws('/', nullif(d.dir, ''), coalesce(p.file_name, p.slug || '.md'))
  from pages p
 cross join lateral (
   select p.dir
    union
   select c.before::json #>> '{page,dir}' from commands c where c.page_id = p.id and c.kind = 'page.moved') as d
 where d.dir is not null
    on conflict do nothing;

alter table pages drop column imported_revision;
alter table pages drop column imported_source;
