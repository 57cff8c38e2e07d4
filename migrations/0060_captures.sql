-- Captures: what was read elsewhere, on its way to a page. The row is the truth about what is still to be compiled; the
-- queue's job is only a hint, and is made anew where it was lost. One capture per address and content.

create table captures (
  id                  uuid        primary key,
  workspace_id        uuid        not null references workspaces,
  url                 text        not null,
  -- The address without what does not name a document.
  url_key             text        not null,
  title               text        not null,
  -- The captured text, in the store of blobs.
  hash                text        not null,
  source              text,
  screenshot_file_id  uuid        references files,
  user_id             uuid        not null,
  run_id              uuid,
  call_id             uuid,
  captured_at         timestamptz not null default clock_timestamp(),
  status              text        not null default 'pending' check (status in ('pending', 'compiled', 'failed')),
  queued_at           timestamptz,
  attempts            int         not null default 0,
  settled_at          timestamptz,
  problem             text,
  page_id             uuid,
  -- The revision of the page that this capture made, and that the next one of the address begins from.
  revision            int,
  unique (workspace_id, url_key, hash),
  foreign key (workspace_id, hash)    references blobs,
  foreign key (workspace_id, page_id) references pages (workspace_id, id),
  check ((status = 'pending')  = (settled_at is null)),
  check ((status = 'compiled') = (page_id is not null)),
  check ((run_id is null) = (call_id is null))
);

create index captures_list   on captures (workspace_id, id);
create index captures_unsent on captures (id)        where queued_at is null;
create index captures_stray  on captures (queued_at) where status = 'pending';

create index webhook_deliveries_stray on webhook_deliveries (queued_at) where status = 'pending';
