-- An approval that nobody decides is brought to mind, and then to more people, before it expires. When is known from the
-- moment it is asked, so it needs no timer and no queue: the run wakes for it as it does for a deadline.

alter table approvals add column remind_at     timestamptz;
alter table approvals add column reminded_at   timestamptz;
alter table approvals add column escalate_at   timestamptz;
alter table approvals add column escalated_at  timestamptz;

-- The next of these moments, beside the call's deadline.
alter table tool_calls add column notice_at timestamptz;
