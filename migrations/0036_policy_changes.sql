-- What a change of policy touches: which tools (null: all), in which scope. Workers judge the open approvals of those tools
-- again, newest first, and delete the row once all were looked at; until then it is the mark of how far that has come.

create table policy_changes (
  id            bigint      generated always as identity primary key,
  scope_id      uuid        not null,
  workspace_id  uuid,
  tools         text[],
  at            timestamptz not null default clock_timestamp(),
  next_id       uuid,
  taken_until   timestamptz
);
