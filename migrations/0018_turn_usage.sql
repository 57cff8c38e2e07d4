-- What each turn cost stands with the turn: people see it, and how full the model's context is can be told from the last
-- one. Set on the entries that a model wrote: `assistant` and `summary`.

alter table run_log
  add column input_tokens  int,
  add column output_tokens int,
  add column cost_micros   bigint;
