-- Durable runs: the run row is the truth and the queue, the log is the conversation and the story, one row per tool call
-- is the position. Nothing outside packages/engine/src/commits writes these tables.
--
-- Text that comes from a model or a tool is stored as the exact JSON it was, in `text`: jsonb would lose NUL, lone
-- surrogates and the spelling of numbers. Rows that every run would touch (workspaces, definitions) are not referenced by
-- foreign keys from here: the share locks of such keys all meet on one row.

create table runs (
  id                      uuid        primary key,
  workspace_id            uuid        not null,
  definition_id           uuid        not null,
  definition_version      int         not null,
  root_id                 uuid        not null,
  parent_id               uuid        references runs,
  depth                   int         not null,
  started_by              uuid        not null,
  title                   text        not null,
  start_key               text,
  start_hash              text,
  page_id                 uuid,
  node_id                 uuid,
  grants                  text[]      not null,

  status                  text        not null check (status in ('queued', 'running', 'paused', 'completed', 'failed', 'canceled')),
  waits_on                text        check (waits_on in ('approval', 'question', 'outcome', 'timer', 'child', 'message', 'budget', 'quarantine')),
  parked_on               text        check (parked_on in ('message', 'budget')),
  quarantined_at          timestamptz,
  ready_at                timestamptz,
  wake_at                 timestamptz,

  epoch                   bigint      not null default 0,
  lease_id                uuid,
  lease_until             timestamptz,
  worker                  text,
  claimed_at              timestamptz,
  claims_without_progress int         not null default 0,

  last_seq                int         not null default 0,
  steers                  int         not null default 0,
  unread                  int         not null default 0,
  turns                   int         not null default 0,
  call_count              int         not null default 0,
  input_tokens            bigint      not null default 0,
  output_tokens           bigint      not null default 0,
  cost_micros             bigint      not null default 0,
  worked_ms               bigint      not null default 0,

  output                  text,
  end_reason              text,
  created_at              timestamptz not null default clock_timestamp(),
  finished_at             timestamptz,

  check ((status = 'paused') = (waits_on is not null)),
  check ((lease_id is null) = (lease_until is null)),
  check (status not in ('completed', 'failed', 'canceled') or (ready_at is null and wake_at is null and lease_id is null))
);

create unique index runs_start_key on runs (workspace_id, start_key) where start_key is not null;
create index runs_ready  on runs (ready_at)    where ready_at is not null and lease_id is null;
create index runs_wake   on runs (wake_at)     where wake_at is not null;
create index runs_leases on runs (lease_until) where lease_id is not null;
create index runs_list   on runs (workspace_id, id);
create index runs_parent on runs (parent_id)   where parent_id is not null;

-- Kinds `user` and `assistant` are the conversation; every other kind is a line of the story. `seq` is dense per run: it
-- is taken under the run's lock.
create table run_log (
  run_id   uuid        not null references runs,
  seq      int         not null,
  kind     text        not null,
  call_id  uuid,
  actor    text,
  content  text        not null,
  at       timestamptz not null default clock_timestamp(),
  primary key (run_id, seq)
);

create table tool_calls (
  id               uuid        primary key,
  run_id           uuid        not null references runs,
  turn_seq         int         not null,
  position         int         not null,
  provider_id      text        not null,
  tool             text        not null,
  args             text        not null,
  args_hash        text        not null,
  definition_hash  text        not null,
  effect           text        not null check (effect in ('read-only', 'transactional', 'idempotent', 'once', 'question')),
  requires         text[]      not null,

  verdict          text        not null,
  gate_row         text        not null,
  gate_reason      text        not null,
  policy_versions  text        not null,

  status           text        not null check (status in ('requested', 'waiting', 'executing', 'done', 'failed', 'denied', 'unknown', 'canceled')),
  waits_on         text        check (waits_on in ('approval', 'question', 'outcome', 'timer', 'child')),
  wait_until       timestamptz,
  approval_id      uuid,
  question_id      uuid,

  attempt          int         not null default 0,
  epoch            bigint,
  has_effect_claim boolean     not null default false,
  started_at       timestamptz,
  finished_at      timestamptz,
  result           text,
  result_code      text,
  result_blob      text,

  unique (run_id, turn_seq, position),
  check ((status = 'waiting') <= (waits_on is not null)),
  check ((waits_on is not null) <= (status in ('waiting', 'unknown'))),
  check ((status in ('done', 'failed', 'denied', 'canceled')) = (finished_at is not null))
);

create index tool_calls_denied_by_user on tool_calls (run_id) where result_code = 'user_denied';

-- A person's messages into a live run, numbered per run under its lock. Read ones name the log entry that carries them.
create table steers (
  run_id     uuid        not null references runs,
  n          int         not null,
  id         uuid        not null unique,
  author     uuid        not null,
  content    text        not null,
  sent_at    timestamptz not null default clock_timestamp(),
  read_seq   int,
  closed_at  timestamptz,
  primary key (run_id, n)
);

-- What an attempt that had lost its lease still found out: evidence, and nothing else changes.
create table late_results (
  id        bigint      generated always as identity primary key,
  run_id    uuid        not null references runs,
  call_id   uuid        not null references tool_calls,
  epoch     bigint      not null,
  status    text        not null,
  result    text        not null,
  at        timestamptz not null default clock_timestamp()
);
