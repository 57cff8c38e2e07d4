-- Kill switches of a tool or of a server, in one workspace or (nil) in all of them. A row is there while the switch is on.

create table tool_switches (
  scope_id   uuid        not null,
  kind       text        not null check (kind in ('tool', 'server')),
  name       text        not null,
  killed_at  timestamptz not null default clock_timestamp(),
  killed_by  uuid,
  reason     text        not null,
  primary key (scope_id, kind, name)
);

-- The definition of a tool (name, description, schema, server) that a person last agreed to, by its hash. A tool that
-- says otherwise since asks, and what was remembered for it is suspended.
create table tool_pins (
  workspace_id     uuid        not null,
  tool             text        not null,
  definition_hash  text        not null,
  pinned_at        timestamptz not null default clock_timestamp(),
  pinned_by        uuid,
  approval_id      uuid,
  primary key (workspace_id, tool)
);
