-- Who may decide is the definition's to say. What it says is copied to each approval, so that an approval is judged by the
-- rule it was asked under; null is the usual rule: one approver or administrator. A quorum's votes are rows, one for each
-- person and one for each say, so that nobody is counted twice, not even through somebody who decides for them.

alter table definition_versions add column approvers json generated always as (spec -> 'approvers') stored;

alter table approvals add column approver_rule json;

-- Whose say it was, where a person decided for somebody who had handed theirs over.
alter table approvals add column decided_for uuid;

create table votes (
  approval_id  uuid         not null references approvals,
  user_id      uuid         not null,
  say_of       uuid         not null,
  answer       text         not null check (answer in ('approve', 'deny', 'done', 'retry', 'give_up')),
  -- What exactly was approved beyond the plain call (edited arguments, an option, a rule); votes count together where it is
  -- the same.
  choice       text         not null default '',
  feedback     text,
  note         text,
  voted_at     timestamptz  not null default clock_timestamp(),
  primary key (approval_id, user_id),
  unique (approval_id, say_of)
);

create table delegations (
  id            uuid         primary key,
  workspace_id  uuid         not null,
  from_user     uuid         not null,
  to_user       uuid         not null,
  -- The one approval it is for; null for all of theirs.
  approval_id   uuid,
  created_at    timestamptz  not null default clock_timestamp(),
  expires_at    timestamptz  not null,
  revoked_at    timestamptz,
  revoked_by    uuid,
  check (from_user <> to_user)
);

create index delegations_to   on delegations (to_user)          where revoked_at is null;
create index delegations_list on delegations (workspace_id, id);
