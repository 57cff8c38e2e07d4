-- How many effects wait for a person to say what became of them is asked by every scrape of the metrics, and is rarely
-- more than a handful: an index of those alone.

create index approvals_outcomes on approvals (workspace_id, id) where status = 'pending' and kind = 'outcome';
