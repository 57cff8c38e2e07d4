-- What waits for a person: approvals (a permission, or what became of an unknown effect) and questions (data, never a
-- permission), each with its card in the task queue. A card and what it stands for are written in the same commit.

create table approvals (
  id               uuid        primary key,
  workspace_id     uuid        not null,
  run_id           uuid        not null references runs,
  call_id          uuid        not null references tool_calls,
  task_id          uuid        not null,
  kind             text        not null check (kind in ('approval', 'outcome')),
  status           text        not null check (status in ('pending', 'approved', 'denied', 'expired', 'canceled', 'superseded')),
  version          int         not null default 1,
  args_hash        text        not null,
  definition_hash  text        not null,
  policy_versions  text        not null,
  gate_row         text        not null,
  gate_reason      text        not null,
  card             text        not null,
  requested_at     timestamptz not null default clock_timestamp(),
  expires_at       timestamptz,
  decided_at       timestamptz,
  decided_by       uuid,
  answer           text        check (answer in ('approve', 'deny', 'done', 'retry', 'give_up')),
  feedback         text,
  note             text,
  consumed_at      timestamptz,
  settled_reason   text,
  check ((status = 'pending') = (decided_at is null))
);

create index approvals_open on approvals (workspace_id, id) where status = 'pending';

create table questions (
  id              uuid        primary key,
  workspace_id    uuid        not null,
  run_id          uuid        not null references runs,
  call_id         uuid        not null references tool_calls,
  task_id         uuid        not null,
  status          text        not null check (status in ('open', 'answered', 'dismissed', 'expired', 'canceled')),
  question        text        not null,
  options         text[]      not null,
  context         text,
  default_answer  text,
  asked_at        timestamptz not null default clock_timestamp(),
  expires_at      timestamptz,
  answered_at     timestamptz,
  answered_by     uuid,
  answer          text,
  check ((status = 'open') = (answered_at is null))
);

-- The queue of people and agents. A card is a task that stands for an approval or a question.
create table tasks (
  id            uuid        primary key,
  workspace_id  uuid        not null,
  kind          text        not null check (kind in ('task', 'approval', 'outcome', 'question')),
  status        text        not null check (status in ('open', 'done', 'dismissed', 'expired', 'canceled')),
  section       text        not null,
  title         text        not null,
  run_id        uuid        references runs,
  approval_id   uuid        references approvals,
  question_id   uuid        references questions,
  page_id       uuid,
  node_id       uuid,
  created_by    text        not null,
  created_at    timestamptz not null default clock_timestamp(),
  resolved_at   timestamptz,
  resolved_by   text,
  resolution    text,
  check ((status = 'open') = (resolved_at is null)),
  check ((kind in ('approval', 'outcome')) = (approval_id is not null)),
  check ((kind = 'question') = (question_id is not null))
);

create index tasks_open on tasks (workspace_id, id)          where status = 'open';
create index tasks_done on tasks (workspace_id, resolved_at) where status = 'done' and kind = 'task';
