-- What a model was told of a tool, by the hash that approvals, pins and rules are bound to: where a tool says something else
-- now, the card shows the difference. One row for each definition that any worker has ever offered.

create table tool_definitions (
  hash           text        primary key,
  tool           text        not null,
  definition     text        not null,
  first_seen_at  timestamptz not null default clock_timestamp()
);
