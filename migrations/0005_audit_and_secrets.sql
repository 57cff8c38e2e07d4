-- Credentials are acquired, never ambient: sealed secrets, the timed hold of one call on one capability, and the audit
-- row that is written in the commit of what it records.

create table audit (
  id            bigint      generated always as identity primary key,
  workspace_id  uuid        not null,
  at            timestamptz not null default clock_timestamp(),
  actor         text        not null,
  action        text        not null,
  run_id        uuid,
  call_id       uuid,
  subject       text,
  details       json
);

create index audit_list on audit (workspace_id, id);

create table secrets (
  id               uuid        primary key,
  workspace_id     uuid        not null references workspaces,
  name             text        not null,
  capability       text        not null,
  current_version  int         not null,
  created_at       timestamptz not null default clock_timestamp(),
  deleted_at       timestamptz,
  unique (workspace_id, name)
);

create unique index secrets_capability on secrets (workspace_id, capability) where deleted_at is null;

create table secret_versions (
  secret_id             uuid        not null references secrets,
  version               int         not null,
  key_id                text        not null,
  ephemeral_public_key  bytea       not null,
  sealed_data_key       bytea       not null,
  data_key_nonce        bytea       not null,
  nonce                 bytea       not null,
  ciphertext            bytea       not null,
  created_at            timestamptz not null default clock_timestamp(),
  created_by            uuid,
  primary key (secret_id, version)
);

-- One live lease per call and capability; a further attempt of the call renews it.
create table capability_leases (
  call_id      uuid        not null references tool_calls,
  capability   text        not null,
  run_id       uuid        not null,
  acquired_at  timestamptz not null,
  expires_at   timestamptz not null,
  primary key (call_id, capability)
);
