-- Webhooks: who is told of what, and what became of it. Nothing is written for them in the commits of runs: a worker finds
-- what is to be told from rows that changed since the snapshot it kept, and makes a delivery of each, once.

create table webhook_endpoints (
  id               uuid         primary key,
  workspace_id     uuid         not null,
  url              text         not null,
  events           text[]       not null,
  secret_name      text         not null,
  -- What this snapshot saw is older than the endpoint and none of its business.
  since            pg_snapshot  not null default pg_current_snapshot(),
  created_by       uuid         not null,
  created_at       timestamptz  not null default clock_timestamp(),
  disabled_at      timestamptz,
  disabled_reason  text
);

create index webhook_endpoints_list on webhook_endpoints (workspace_id, id);

-- `subject` is the approval, question or run; each is told to an endpoint once, and again only where a person asks for it.
create table webhook_deliveries (
  id            uuid         primary key,
  workspace_id  uuid         not null,
  endpoint_id   uuid         not null references webhook_endpoints,
  event         text         not null,
  subject       uuid         not null,
  payload       text         not null,
  redelivers    uuid         references webhook_deliveries,
  status        text         not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  attempts      int          not null default 0,
  created_at    timestamptz  not null default clock_timestamp(),
  queued_at     timestamptz,
  settled_at    timestamptz,
  check ((status = 'pending') = (settled_at is null))
);

create unique index webhook_deliveries_once   on webhook_deliveries (endpoint_id, event, subject) where redelivers is null;
create index        webhook_deliveries_list   on webhook_deliveries (endpoint_id, id);
create index        webhook_deliveries_unsent on webhook_deliveries (id) where queued_at is null;

create table webhook_attempts (
  delivery_id  uuid         not null references webhook_deliveries,
  n            int          not null,
  at           timestamptz  not null default clock_timestamp(),
  took_ms      int          not null,
  status_code  int,
  failure      text,
  primary key (delivery_id, n)
);

-- Up to where changes were turned into deliveries; null while no endpoint is enabled. One row.
create table webhook_follower (
  id        int          primary key check (id = 1),
  snapshot  pg_snapshot
);

insert into webhook_follower (id) values (1);
