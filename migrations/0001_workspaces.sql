-- Whose everything is: tenants, the people in them, and the tokens programs act with.

create table workspaces (
  id          uuid        primary key,
  name        text        not null,
  created_at  timestamptz not null default clock_timestamp()
);

create table users (
  id            uuid        primary key,
  workspace_id  uuid        not null references workspaces,
  name          text        not null,
  role          text        not null check (role in ('viewer', 'operator', 'approver', 'admin')),
  created_at    timestamptz not null default clock_timestamp(),
  disabled_at   timestamptz,
  unique (workspace_id, name)
);

-- A token acts as its user. Only its hash is stored; a service token decides only where it was given that right.
create table tokens (
  id            uuid        primary key,
  workspace_id  uuid        not null references workspaces,
  user_id       uuid        not null references users,
  hash          text        not null unique,
  label         text        not null,
  may_decide    boolean     not null,
  created_at    timestamptz not null default clock_timestamp(),
  expires_at    timestamptz,
  revoked_at    timestamptz
);
