-- Holds still the policy the given runs are judged under until the commit ends. An advisory lock and not one of the rows:
-- whoever shares a row is let past those who wait to change it, so a kill switch would wait for as long as work begins,
-- while these are given in the order in which they were asked for. What a run itself is set to changes under the run's own
-- lock, which the caller holds.
create or replace function lock_policies(p_ids uuid[]) returns void
language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(policy_lock(s.scope_id))
     from (select s.rank, s.scope_id
             from runs r
            cross join lateral (values (1, '00000000-0000-0000-0000-000000000000'::uuid), (2, r.workspace_id), (3, r.definition_id)) s (rank, scope_id)
            where r.id = any (p_ids)
            group by s.rank, s.scope_id
            order by s.rank, s.scope_id
           offset 0) s;
end
$$;
