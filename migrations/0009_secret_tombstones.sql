-- A deleted secret leaves its row behind, naming who deleted it, so that a stale environment variable does not bring it
-- back at the next boot. Only a person who sets it again does.

alter table secrets add column deleted_by uuid;
