-- A person's message reaches a live run: it is stored in the run's inbox and counted as unread. It never ends a wait: on
-- a run that waits for anything but a message it is read before the next model turn, whenever that is. A run that has
-- ended takes none, and the sender is told. The same id again returns the message it stored; on another run it is a
-- `mismatch`.
create or replace function steer_run(p_runs uuid[], p_workspaces uuid[], p_ids uuid[], p_authors uuid[], p_contents text[],
                                     p_typed boolean[], p_blocking boolean)
returns table (run_id uuid, outcome text, n int)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  locked uuid[] := lock_runs(p_runs, p_blocking);
  ids    uuid[];
begin
  with sent as (
    insert into steers (run_id, n, id, author, content, is_typed)
    select r.id, r.steers + 1, m.id, m.author, m.content, m.is_typed
      from unnest(p_runs, p_workspaces, p_ids, p_authors, p_contents, p_typed) m (run, workspace, id, author, content, is_typed)
      join runs r on r.id = m.run and r.workspace_id = m.workspace
     where r.id = any (locked) and r.status not in ('completed', 'failed', 'canceled')
        on conflict (id) do nothing
    returning run_id)
  select array_agg(run_id) into ids from sent;

  update runs r
     set steers    = r.steers + 1,
         unread    = r.unread + 1,
         parked_on = case r.parked_on when 'message' then null else r.parked_on end,
         status    = case when r.waits_on = 'message' then 'running' else r.status end,
         waits_on  = case when r.waits_on = 'message' then null else r.waits_on end,
         ready_at  = case when r.status = 'paused' and r.waits_on <> 'message' and r.lease_id is null then r.ready_at
                          else coalesce(r.ready_at, clock_timestamp()) end
   where r.id = any (ids);

  return query
  select m.run,
         case when m.run = any (ids)                                      then 'queued'
              when r.id is null                                           then 'not_found'
              when s.run_id = m.run                                       then 'queued'
              when s.id is not null                                       then 'mismatch'
              else 'ended'
         end,
         case when s.run_id = m.run then s.n end
    from unnest(p_runs, p_workspaces, p_ids) m (run, workspace, id)
    left join runs r   on r.id = m.run and r.workspace_id = m.workspace
    left join steers s on s.id = m.id
   where m.run = any (locked);
end
$$;
