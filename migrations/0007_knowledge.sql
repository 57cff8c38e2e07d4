-- What a team knows, as people and agents edit it: pages that are ordered trees of Markdown nodes, and one log of commands
-- through which every change goes, so that history and undo cover agents and people alike.

create extension if not exists pg_trgm;

-- `frontmatter` is the exact text above the first node, the blank lines after its closing `---` included: unknown keys,
-- their order, comments and YAML that no parser takes all survive. `file_name` is that of the imported file, where there
-- was one. `revision` goes up by one with every command.
create table pages (
  id            uuid        primary key,
  workspace_id  uuid        not null references workspaces,
  dir           text        not null,
  title         text        not null,
  slug          text        not null,
  type          text        not null,
  frontmatter   text        not null,
  line_end      text        not null check (line_end in (E'\n', E'\r\n')),
  file_name     text,
  revision      int         not null,
  created_at    timestamptz not null default clock_timestamp(),
  updated_at    timestamptz not null default clock_timestamp(),
  unique (workspace_id, dir, slug),
  unique (workspace_id, id)
);

create index pages_title        on pages (workspace_id, title);
create index pages_title_folded on pages (workspace_id, lower(normalize(title, NFKC)));

-- `text` is raw Markdown without the indentation and marker that place the node. An imported node keeps those beside it
-- (`lead` before its first line, `hang` before its further lines, `trail` after it), so that it goes back out byte for
-- byte; null means that the writer decides. Siblings are ordered by key, then id: two writers may take the same key.
create table nodes (
  id            uuid  primary key,
  workspace_id  uuid  not null,
  page_id       uuid  not null,
  parent_id     uuid,
  order_key     text  collate "C" not null,
  kind          text  not null check (kind in ('bullet', 'heading', 'paragraph', 'table', 'fence')),
  text          text  not null,
  lead          text,
  hang          text,
  trail         text,
  unique (page_id, id),
  foreign key (workspace_id, page_id) references pages (workspace_id, id),
  foreign key (page_id, parent_id) references nodes (page_id, id),
  check ((lead is null) = (hang is null) and (lead is null) = (trail is null))
);

create index nodes_children on nodes (page_id, parent_id, order_key, id);
create index nodes_text     on nodes using gin (text gin_trgm_ops);

-- One row per change of a page, numbered by the revision it made. A run acts as its user and names the call that did it.
-- `before` and `after` are the JSON of what changed.
create table commands (
  id            uuid        primary key,
  workspace_id  uuid        not null,
  page_id       uuid        not null,
  revision      int         not null,
  kind          text        not null,
  user_id       uuid        not null,
  run_id        uuid,
  call_id       uuid,
  before        text,
  after         text,
  at            timestamptz not null default clock_timestamp(),
  unique (page_id, revision),
  foreign key (workspace_id, page_id) references pages (workspace_id, id),
  check ((run_id is null) = (call_id is null))
);

create index commands_list on commands (workspace_id, id);
create index commands_run  on commands (run_id, id) where run_id is not null;
