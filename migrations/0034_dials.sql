-- What runs unasked in a scope, and which calls ask there at all: values of a layer, beside its version and its switch.
-- Null is no entry: the next layer out decides. The app's layer comes from a configuration file: the row keeps which
-- (`configuration_hash`), and which entries of the denylist that file softens from deny to ask.

alter table policies add column dial_level                text    check (dial_level in ('none', 'read-only', 'low', 'high', 'read', 'write'));
alter table policies add column dial_expires_at           timestamptz;
alter table policies add column is_dial_locked            boolean not null default false;
alter table policies add column approval_policy           text    check (approval_policy in ('none', 'outbound', 'all'));
alter table policies add column is_approval_policy_locked boolean not null default false;
alter table policies add column softened                  text[];
alter table policies add column configuration_hash        text;
