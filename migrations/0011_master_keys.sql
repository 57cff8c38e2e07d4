-- The keys that secrets are sealed to. A key is retired only when nothing is sealed to it, and from then on nothing may be:
-- whoever stores a secret shares the row of its key until the commit, so no secret slips in behind the count.

create table master_keys (
  key_id         text        primary key,
  first_used_at  timestamptz not null default clock_timestamp(),
  retired_at     timestamptz
);

insert into master_keys (key_id) select distinct key_id from secret_versions;

create index secret_versions_key on secret_versions (key_id);
