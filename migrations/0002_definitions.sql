-- What an agent is. Versions are never edited in place: a run keeps the one it started with.

create table definitions (
  id               uuid        primary key,
  workspace_id     uuid        not null references workspaces,
  name             text        not null,
  current_version  int         not null,
  created_at       timestamptz not null default clock_timestamp(),
  unique (workspace_id, name)
);

create table definition_versions (
  definition_id  uuid        not null references definitions,
  version        int         not null,
  spec           json        not null,
  created_at     timestamptz not null default clock_timestamp(),
  primary key (definition_id, version)
);

-- One row per scope that policy can be set on. `version` moves with every change of what the gate reads there, so that
-- a commit that starts an effect can require the policy it was judged under. Scope ids never repeat across scopes; the
-- app's is the nil uuid. A run has a row only once something was set for it, written under the run's own lock.
create table policies (
  scope_id      uuid        primary key,
  scope         text        not null check (scope in ('app', 'workspace', 'definition', 'run')),
  workspace_id  uuid        references workspaces,
  version       bigint      not null default 1,
  killed_at     timestamptz,
  killed_by     uuid,
  kill_reason   text,
  lifted_at     timestamptz
);

create index policies_killed on policies (scope_id) where killed_at is not null;

insert into policies (scope_id, scope) values ('00000000-0000-0000-0000-000000000000', 'app');
