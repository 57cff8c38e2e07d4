-- Links between pages, as rows: by page where the target is known, by what was written where it is not yet. A rename
-- rewrites what is resolved, and a page that comes to be resolves what waited for it.

-- `target` is what is linked to: of kind `title` a name as `pages.names` has it, of kind `path` a file by its path, of
-- which `file_name` is the last part.
create table links (
  id              bigint  generated always as identity primary key,
  workspace_id    uuid    not null,
  page_id         uuid    not null,
  node_id         uuid    not null references nodes on delete cascade,
  kind            text    not null check (kind in ('title', 'path')),
  target          text    not null,
  file_name       text,
  target_page_id  uuid    references pages,
  foreign key (workspace_id, page_id) references pages (workspace_id, id)
);

create index links_node    on links (node_id);
create index links_page    on links (page_id);
create index links_names   on links (workspace_id, target) where kind = 'title';
create index links_files   on links (workspace_id, file_name) where kind = 'path' and target_page_id is null;
create index links_target  on links (target_page_id) where target_page_id is not null;
