-- How much a workspace may store as files, in bytes, each content counted once; null where nothing limits it. And content
-- of which the last file is deleted goes too, unless something else still needs it, such as a result too large for a prompt.

alter table workspaces add column file_quota_bytes bigint check (file_quota_bytes >= 0);

create index tool_calls_result_blob on tool_calls (result_blob) where result_blob is not null;
