-- That a model was asked in vain, and why, is shown to those who watch, too.
alter table deltas drop constraint deltas_kind_check;
alter table deltas add check (kind in ('started', 'retried', 'text', 'thinking', 'tool_use'));
