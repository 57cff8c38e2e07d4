-- Ready → leased. Takes up to p_limit ready runs that nobody holds and no kill switch holds, oldest first, and the news
-- of runs this process holds already (their epoch and lease stay). Approved calls that need no further look are begun in
-- the same commit, so a decision costs no commit of its own between the person and the effect. A holder that is told of
-- news reads the run itself, in step with what it is doing.
--   p_only: null, or the only runs to consider (a batch that failed is retried one by one).
--   p_held, p_held_leases: the runs this process holds, by the leases it holds them with.
--   p_tools, p_definition_hashes: the tools this process can run; a run with a call of another waits for one that has it.
create or replace function claim_runs(
  p_worker text, p_lease_ms bigint, p_limit int, p_only uuid[], p_held uuid[], p_held_leases uuid[],
  p_tools text[], p_definition_hashes text[]
) returns table (run_id uuid, is_new boolean, snapshot json)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  fresh  uuid[];
  news   uuid[];
  calls  uuid[];
  epochs bigint[];
  lines  int[];
begin
  select array_agg(l.id) into fresh
    from (select r.id
            from runs r
           where r.ready_at <= clock_timestamp() and r.lease_id is null
             and (p_only is null or r.id = any (p_only))
             and not exists (select 1 from policies p
                              where p.killed_at is not null
                                and p.scope_id in ('00000000-0000-0000-0000-000000000000', r.workspace_id, r.definition_id, r.id))
             -- Not as `exists`, and not as a function: this one is looked up run by run, whatever the statistics say.
             and (select 1 from tool_calls c
                   where c.run_id = r.id and c.turn_seq = (select max(l.turn_seq) from tool_calls l where l.run_id = r.id)
                     and c.status in ('requested', 'executing') and c.tool <> all (p_tools)
                   limit 1) is null
           order by r.ready_at
           limit p_limit
             for no key update of r skip locked) l;

  select array_agg(l.id) into news
    from (select r.id
            from unnest(p_held, p_held_leases) h (run, lease)
            join runs r on r.id = h.run
           where r.lease_id = h.lease and r.ready_at is not null
             for no key update of r skip locked) l;

  if fresh is null and news is null then
    return;
  end if;

  if exists (select 1
               from unnest(fresh || news) n (id)
              cross join lateral (
                    select c.status, c.approval_id from tool_calls c
                     where c.run_id = n.id and c.turn_seq = (select max(l.turn_seq) from tool_calls l where l.run_id = n.id)
                    offset 0) c
              where c.status = 'requested' and c.approval_id is not null) then
    perform lock_policies(fresh || news);
    select array_agg(c.id), array_agg(r.epoch + (r.id = any (coalesce(fresh, '{}')))::int)
      into calls, epochs
      from startable_calls(fresh || news, p_tools, p_definition_hashes) s
     cross join lateral (select c.id, c.run_id from tool_calls c where c.id = s.call_id limit 1) c
     cross join lateral (select r.id, r.epoch from runs r where r.id = c.run_id limit 1) r;
    if calls is not null then
      begin
        -- In the order of the runs, so that the update need not join them: that would cost the square of the batch.
        select array_agg(b.lines order by n.i) into lines
          from unnest(fresh || news) with ordinality n (id, i)
          left join begin_calls(calls, epochs) b on b.run_id = n.id;
      exception when sqlstate 'CSAUD' then
        -- The worker begins these calls itself, and there each fails with what is wrong.
        lines := null;
      end;
    end if;
  end if;

  if calls is null then
    -- Need not wait for the disk: whatever is done under this claim is written after it, so a crash of the database loses
    -- it only where nothing else is left of it, and the next claim, though of the same epoch, has another lease.
    perform set_config('synchronous_commit', 'off', true);
  end if;

  update runs r
     set epoch                   = r.epoch + k.is_fresh::int,
         lease_id                = case when k.is_fresh then gen_random_uuid() else r.lease_id end,
         lease_until             = case when k.is_fresh then clock_timestamp() + p_lease_ms * interval '1 millisecond' else r.lease_until end,
         worker                  = p_worker,
         claimed_at              = case when k.is_fresh then clock_timestamp() else r.claimed_at end,
         ready_at                = null,
         claims_without_progress = r.claims_without_progress + k.is_fresh::int,
         status                  = case s.status when 'queued' then 'running' else s.status end,
         waits_on                = s.waits_on,
         changed                 = case when r.status = 'queued' or n.lines > 0 then pg_current_xact_id() else r.changed end,
         wake_at                 = s.wake_at,
         last_seq                = r.last_seq + coalesce(n.lines, 0)
    from rows from (unnest(fresh || news), unnest(lines)) with ordinality n (id, lines, i)
   cross join lateral run_state(array[n.id]) s
   cross join lateral (select n.i <= coalesce(cardinality(fresh), 0) as is_fresh) k
   where r.id = n.id;

  return query
  select s.run_id, true, s.snapshot from run_snapshot(fresh) s
   union all
  select n.id, false, null::json from unnest(news) n (id);
end
$$;
