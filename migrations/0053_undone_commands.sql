-- A command may take back an earlier one of its page. `before` and `after` hold what it changed as JSON:
-- the page's own fields, and the nodes as they were and as they became; a node that is in one alone was added or removed.

alter table commands add column undoes uuid references commands;

create unique index commands_undone on commands (undoes) where undoes is not null;
