-- A grant can be taken back while a call holds its credential: the lease says so, and its next use fails.

alter table capability_leases add column revoked_at timestamptz;
