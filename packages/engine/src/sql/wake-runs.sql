-- The last statement of a commit that somebody other than the holder made: takes the log numbers it used, derives the
-- status, and makes the run ready. A live lease is left alone: its holder goes on with the news. A run in quarantine
-- stays there.
create or replace function wake_runs(p_ids uuid[], p_lines int[]) returns void
language plpgsql volatile as $$
begin
  update runs r
     set last_seq = r.last_seq + n.lines,
         status   = s.status,
         waits_on = s.waits_on,
         wake_at  = s.wake_at,
         changed  = pg_current_xact_id(),
         ready_at = case when s.status in ('completed', 'failed', 'canceled') or r.quarantined_at is not null then null
                         else coalesce(r.ready_at, clock_timestamp())
                    end
    from unnest(p_ids, p_lines) n (id, lines)
   cross join lateral run_state(array[n.id]) s
   where r.id = n.id;
end
$$;
