-- What a request with an idempotency key was answered, written in the transaction of its effect: either both are there or
-- neither. `sender` is the account whose token sent it. Rows are removed after two days, a few with each new one.

create table idempotency_keys (
  sender        uuid        not null,
  key           text        not null,
  workspace_id  uuid        not null,
  request_hash  text        not null,
  answer        text        not null,
  created_at    timestamptz not null default clock_timestamp(),
  primary key (sender, key)
);

create index idempotency_keys_age on idempotency_keys (created_at);
