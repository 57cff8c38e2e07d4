-- An address may come to say again what it said once: that is a capture of its own. `follows` is the one that was the newest
-- of the address, so that of the same capture made many times at once one is made.
alter table captures add column follows uuid;
alter table captures drop constraint captures_workspace_id_url_key_hash_kept_for_key;
alter table captures add unique nulls not distinct (workspace_id, url_key, hash, kept_for, follows);
