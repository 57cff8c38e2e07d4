-- A program acts under an account of its own, so that the audit never takes it for a person. Where its token was made with
-- the right, it may also act for people who are named there, and only for those.

alter table users add column is_service boolean not null default false;

alter table tokens add column acts_for     uuid[]      not null default '{}';
alter table tokens add column created_by   uuid;
alter table tokens add column last_used_at timestamptz;

create index tokens_list on tokens (workspace_id, id);
