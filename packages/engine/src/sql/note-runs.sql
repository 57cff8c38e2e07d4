-- The last statement of a commit that writes to a run's story and brings its worker nothing to do: takes the log numbers it
-- used, and derives when the run is to be looked at.
create or replace function note_runs(p_ids uuid[], p_lines int[]) returns void
language plpgsql volatile as $$
begin
  update runs r
     set last_seq = r.last_seq + n.lines,
         wake_at  = s.wake_at
    from unnest(p_ids, p_lines) n (id, lines)
    join run_state(p_ids) s on s.run_id = n.id
   where r.id = n.id;
end
$$;
