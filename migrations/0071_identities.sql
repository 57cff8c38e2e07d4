-- Signing in through an identity provider: which of its subjects is which user here, and what is under way.

-- The address by which a person's first sign-in finds the account that an administrator made.
alter table users add column email text;

create unique index users_email on users (workspace_id, lower(email));

create table identities (
  issuer        text        not null,
  subject       text        not null,
  workspace_id  uuid        not null references workspaces,
  user_id       uuid        not null references users,
  created_at    timestamptz not null default clock_timestamp(),
  primary key (issuer, subject)
);

-- Between the way to the provider and the way back. The browser alone has what `hash` is of; a row is used once.
create table sign_ins (
  hash        text        primary key,
  verifier    text        not null,
  nonce       text        not null,
  expires_at  timestamptz not null
);
