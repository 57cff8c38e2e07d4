-- Content too large for a row of its own, by the sha256 of its bytes: stored once however often it is produced.

create table blobs (
  workspace_id  uuid        not null,
  hash          text        not null,
  size          bigint      not null,
  media_type    text        not null,
  created_at    timestamptz not null default clock_timestamp(),
  primary key (workspace_id, hash)
);

create table blob_chunks (
  workspace_id  uuid   not null,
  hash          text   not null,
  n             int    not null,
  bytes         bytea  not null,
  primary key (workspace_id, hash, n),
  foreign key (workspace_id, hash) references blobs
);
