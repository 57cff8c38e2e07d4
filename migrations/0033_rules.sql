-- Rules: what a person, or the app's configuration, has answered for later calls. A rule stands at one scope for one
-- target. Written ones are at most one per target and scope; remembered ones ("allow for this run", "always allow") are
-- a row per decision, so that each can be taken back by itself, by id and version. A row is never deleted: a rule that
-- no longer counts says since when, by whom and why.

create table rules (
  id               uuid        primary key,
  scope            text        not null check (scope in ('app', 'workspace', 'definition', 'run')),
  scope_id         uuid        not null,
  workspace_id     uuid,
  target_kind      text        not null check (target_kind in ('tool', 'server', 'family', 'everything')),
  target_name      text        not null,
  mode             text        not null check (mode in ('off', 'deny', 'ask', 'allowlist', 'allow')),
  is_locked        boolean     not null default false,
  entries          json,
  is_remembered    boolean     not null default false,
  definition_hash  text,
  expires_at       timestamptz,
  version          int         not null default 1,
  approval_id      uuid,
  created_by       uuid,
  created_at       timestamptz not null default clock_timestamp(),
  updated_at       timestamptz not null default clock_timestamp(),
  revoked_at       timestamptz,
  revoked_by       text,
  revoked_reason   text,
  check ((scope = 'app') = (workspace_id is null)),
  check ((target_kind = 'everything') = (target_name = '')),
  check (not is_locked or scope in ('app', 'workspace')),
  check (not is_remembered or mode = 'allow')
);

create unique index rules_written on rules (scope_id, target_kind, target_name) where revoked_at is null and not is_remembered;
create index rules_live           on rules (scope_id)                           where revoked_at is null;
create index rules_remembered     on rules (target_name)                        where revoked_at is null and is_remembered;
