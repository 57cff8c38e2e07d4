-- What was decided, and what expired, is listed by its status, newest first, however much waits beside it. What waits is
-- not in these: a card is entered here once, when it is over.

create index approvals_settled on approvals (workspace_id, status, id) where status <> 'pending';
create index tasks_settled on tasks (workspace_id, status, id) where status <> 'open';
