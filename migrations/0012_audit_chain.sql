-- An audit row that is changed or removed afterwards must show. Chaining rows as they are written would line every commit
-- up behind one lock, so a sealer does it a moment later, from the order in which their transactions began: a row is taken
-- once no transaction that could still write before it is in progress. The rows themselves are never updated.

alter table audit add column xid xid8 not null default pg_current_xact_id();

create index audit_order on audit (xid, id);

-- `hash` is an HMAC over the row, its number and the hash before it. Numbers are dense per workspace.
create table audit_chain (
  workspace_id  uuid    not null,
  seq           bigint  not null,
  audit_id      bigint  not null unique,
  key_id        text    not null,
  hash          bytea   not null,
  primary key (workspace_id, seq)
);

-- How far sealing has come. Whoever holds this one row is the sealer of the moment.
create table audit_progress (
  is_only  boolean  primary key default true check (is_only),
  xid      xid8     not null,
  id       bigint   not null
);

insert into audit_progress (xid, id) values ('0', 0);

-- A chain cannot see that its own tail was cut off; a signed head that was also kept elsewhere can.
create table audit_heads (
  workspace_id  uuid         not null,
  seq           bigint       not null,
  hash          bytea        not null,
  rows          bigint       not null,
  key_id        text         not null,
  signature     bytea        not null,
  signed_at     timestamptz  not null,
  primary key (workspace_id, seq)
);
