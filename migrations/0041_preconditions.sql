-- Some calls are put before a person with what they would do, found out by reading first. What was read is bound to the
-- approval: JSON text of a list of kind, name and hash. Where any of it is another when the call is to run, it is asked
-- again.

alter table approvals add column preconditions text;

-- The ids of what a person picks from, as JSON text of a list: an approval that has them carries nothing until one is picked.
alter table approvals add column options text;

-- What runs where it is not what the model wrote: a person's change that outlived the approval it was made with, since the
-- call had to be asked about once more. And the option that was picked.
alter table tool_calls add column run_args        text;
alter table tool_calls add column run_args_hash   text;
alter table tool_calls add column selected_option text;

-- Attempts of which the tool itself said that they did nothing, since a precondition no longer held. They do not count as
-- attempts; what they acquired stands in the audit all the same.
alter table tool_calls add column undone int not null default 0;

alter table tool_calls add constraint tool_calls_run_args check ((run_args is null) = (run_args_hash is null));
