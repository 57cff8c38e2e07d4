-- A call may be asked about more than once (a decision that came to nothing, a card that was replaced): whoever looks at a
-- call sees every approval of it, not only the last.

create index approvals_call on approvals (call_id);
