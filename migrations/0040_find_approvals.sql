-- Approvals are looked for in two more ways. Several runs may ask for the very same: the same tool, with the same arguments,
-- so whoever reads one card sees how many there are and may decide them together. And the receipt of an approval is what the
-- audit holds of it.

create index approvals_equal on approvals (workspace_id, args_hash, definition_hash) where status = 'pending' and kind = 'approval';

create index audit_approvals on audit (subject) where action like 'approval.%';
