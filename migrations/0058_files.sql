-- Files: names that people and agents give to stored content. The content itself is a blob, stored once however often it
-- is uploaded; a file says who brought it, under which name, and to which page it belongs.

create table files (
  id            uuid        primary key,
  workspace_id  uuid        not null,
  hash          text        not null,
  name          text        not null,
  media_type    text        not null,
  size          bigint      not null,
  page_id       uuid,
  run_id        uuid,
  created_by    text        not null,
  created_at    timestamptz not null default clock_timestamp(),
  foreign key (workspace_id, hash)    references blobs,
  foreign key (workspace_id, page_id) references pages (workspace_id, id),
  -- The same content under the same name at the same place is the same file of whoever brings it.
  unique nulls not distinct (workspace_id, hash, name, created_by, page_id)
);

create index files_list on files (workspace_id, page_id, id);

-- What has arrived of an upload. It becomes a blob in one commit, once all of it is there and is what it claims to be.
-- Unlogged: what a crash of the database takes away, the client sends again.
create unlogged table upload_chunks (
  upload_id   uuid        not null,
  n           int         not null,
  bytes       bytea       not null,
  arrived_at  timestamptz not null default clock_timestamp(),
  primary key (upload_id, n)
);
