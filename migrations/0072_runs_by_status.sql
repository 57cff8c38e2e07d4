-- A list of runs is read by status: all of them are the newest of each, so that one index, no larger than the one it
-- replaces, serves every list, and a rare status among a million runs is found without passing the others.
create index runs_by_status on runs (workspace_id, status, id);

drop index runs_list;
