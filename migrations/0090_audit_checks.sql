-- An administrator asks for the audit to be checked from afar, and a worker does it: it alone holds the key of the chains.
create table audit_checks (
  id            uuid         primary key,
  workspace_id  uuid         not null references workspaces,
  asked_by      uuid         not null references users,
  asked_at      timestamptz  not null default clock_timestamp(),
  -- When a worker last went on with it; one that it left is taken anew.
  taken_at      timestamptz,
  rows_read     bigint       not null default 0,
  finished_at   timestamptz,
  report        json
);

-- One at a time for a workspace: whoever asks meanwhile is shown the same.
create unique index audit_checks_open on audit_checks (workspace_id) where finished_at is null;
create index audit_checks_list on audit_checks (workspace_id, id);
