-- What a model says while it says it, for people who watch. Unlogged, and never part of a run's state: the commit that
-- records the turn takes its rows away, and a row of an older turn (`turn` is below the run's `turns`) is to be ignored.
-- `started` says that the turn is told from its beginning, whatever came before. `content` is JSON text of a string.

create unlogged table deltas (
  run_id   uuid        not null,
  id       bigint      generated always as identity,
  turn     int         not null,
  kind     text        not null check (kind in ('started', 'text', 'thinking', 'tool_use')),
  content  text        not null,
  at       timestamptz not null default clock_timestamp(),
  primary key (run_id, id)
);
