-- What a run's status is, derived from its calls and waits as they stand. Only calls of the latest turn can be open:
-- a turn's calls are all settled before the model is asked again.
--   is_idle: nothing is left to do for a worker until somebody or some time brings it.
create or replace function run_state(p_ids uuid[])
returns table (run_id uuid, status text, waits_on text, wake_at timestamptz, is_idle boolean)
language sql stable as $$
  select r.id,
         case when r.status in ('completed', 'failed', 'canceled') then r.status
              when w.waits_on is not null                          then 'paused'
              when r.epoch = 0                                     then 'queued'
              else 'running'
         end,
         case when r.status not in ('completed', 'failed', 'canceled') then w.waits_on end,
         case when r.status not in ('completed', 'failed', 'canceled') then c.wake_at end,
         r.status in ('completed', 'failed', 'canceled') or (w.waits_on is not null and (not c.is_busy or r.quarantined_at is not null))
    from runs r
   cross join lateral (
         select coalesce(bool_or(t.status in ('requested', 'executing')), false)  as is_busy,
                coalesce(bool_or(t.waits_on = 'approval'), false)                 as on_approval,
                coalesce(bool_or(t.waits_on = 'question'), false)                 as on_question,
                coalesce(bool_or(t.waits_on = 'outcome'), false)                  as on_outcome,
                min(t.waits_on) filter (where t.waits_on in ('timer', 'child'))   as on_other,
                min(least(t.wait_until, case when t.waits_on in ('approval', 'outcome') then t.notice_at end)) as wake_at
           from tool_calls t
          where t.run_id = r.id
            and t.turn_seq = (select max(l.turn_seq) from tool_calls l where l.run_id = r.id)) c
   cross join lateral (
         select case when r.quarantined_at is not null then 'quarantine'
                     when c.on_approval                then 'approval'
                     when c.on_question                then 'question'
                     when c.on_outcome                 then 'outcome'
                     when c.is_busy                    then null
                     else coalesce(c.on_other, r.parked_on)
                end as waits_on) w
   where r.id = any (p_ids)
$$;
