-- What the heartbeat finds due: reminders, and events of the calendar that are to be prepared for. Each becomes a task once,
-- in the commit that says so on its own row.

create table reminders (
  id            uuid        primary key,
  workspace_id  uuid        not null references workspaces,
  text          text        not null,
  due_at        timestamptz not null,
  user_id       uuid        not null,
  run_id        uuid,
  created_by    text        not null,
  created_at    timestamptz not null default clock_timestamp(),
  status        text        not null default 'pending' check (status in ('pending', 'reminded', 'canceled')),
  settled_at    timestamptz,
  settled_by    text,
  task_id       uuid,
  check ((status = 'pending')  = (settled_at is null)),
  check ((status = 'reminded') = (task_id is not null))
);

create index reminders_due  on reminders (due_at)                   where status = 'pending';
create index reminders_list on reminders (workspace_id, due_at, id) where status = 'pending';
create index reminders_past on reminders (workspace_id, id);

-- Events as a calendar outside tells them, by its own uid. `time_zone` is where the event takes place in time, so that a
-- task can say the hour that people know it by.
create table calendar_events (
  workspace_id     uuid        not null references workspaces,
  uid              text        not null,
  title            text        not null,
  starts_at        timestamptz not null,
  ends_at          timestamptz not null,
  time_zone        text        not null,
  prepare_minutes  int         not null check (prepare_minutes between 0 and 43200),
  -- When its preparation falls due; null where it needs none, or has had it.
  prepare_at       timestamptz,
  task_id          uuid,
  put_by           text        not null,
  put_at           timestamptz not null default clock_timestamp(),
  primary key (workspace_id, uid),
  check (ends_at >= starts_at)
);

create index calendar_events_due  on calendar_events (prepare_at) where prepare_at is not null;
create index calendar_events_list on calendar_events (workspace_id, starts_at, uid);
