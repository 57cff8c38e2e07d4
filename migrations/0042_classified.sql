-- What a cheap model said of the risk of a call's arguments, bound to those arguments and to the prompt it was asked with:
-- JSON of level, argsHash, promptVersion and model. What it cost is a line of the run's log, apart from the run's totals.

alter table tool_calls add column classified json;

create index run_log_classified on run_log (run_id) where kind = 'call.classified';
