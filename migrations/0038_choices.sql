-- What a person chose with an approval. Nothing a model writes reaches these columns.

-- The arguments as the person changed them, exact JSON text, and their hash: these run, or nothing does.
alter table approvals add column edited_args      text;
alter table approvals add column edited_args_hash text;
-- The id of the option that was picked.
alter table approvals add column selected_option  text;
-- How far the answer reaches: this call alone, or where a rule remembers it.
alter table approvals add column scope            text check (scope in ('once', 'run', 'definition', 'workspace'));

alter table approvals add constraint approvals_edited check ((edited_args is null) = (edited_args_hash is null));

-- Its successor takes what was chosen; a function is not replaced by one of other arguments.
drop function if exists decide_approval(uuid[], uuid[], uuid[], uuid[], text[], int[], text[], text[], text[], text[], boolean);
