-- A capability is taken back from a run and every descendant in one commit: it is granted no more, leases on it are
-- revoked, so an open handle fails at its next use, and the policy version of each run moves, so that no call which was
-- judged before begins without another look. Nobody is woken: a call that needs the grant is refused when its turn comes.
create or replace function revoke_grant(p_runs uuid[], p_workspaces uuid[], p_users uuid[], p_capabilities text[], p_blocking boolean)
returns table (run_id uuid, outcome text, revoked int)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  tree      uuid[] := lock_tree(p_runs[1], p_workspaces[1], p_blocking);
  losing    uuid[];
  lost      text := p_capabilities[1];
  was_taken boolean;
begin
  -- Somebody holds a part of the tree: without an answer the caller asks again, prepared to wait.
  if tree is null then
    return;
  end if;

  select array_agg(r.id) into losing
    from runs r
   where r.id = any (tree) and lost = any (r.grants) and r.status not in ('completed', 'failed', 'canceled');

  was_taken := exists (
    select from run_log l
     where l.run_id = p_runs[1] and l.kind = 'grant.revoked' and l.content = to_json('revoked ' || lost)::text);

  if losing is not null then
    perform move_policies(array_agg('run'::text), array_agg(r.id), array_agg(r.workspace_id), array_agg(null::text))
       from runs r
      where r.id = any (losing);

    update capability_leases l
       set revoked_at = coalesce(l.revoked_at, clock_timestamp())
     where l.run_id = any (losing) and l.capability = lost;

    insert into audit (workspace_id, actor, action, run_id, subject)
    select n.workspace, 'user:' || n.revoker, 'grant.revoked', r.id, lost
      from unnest(p_workspaces, p_users) n (workspace, revoker)
     cross join unnest(losing) r (id);

    insert into run_log (run_id, seq, kind, actor, content)
    select r.id, r.last_seq + 1, 'grant.revoked', 'user:' || n.revoker, to_json('revoked ' || lost)::text
      from unnest(p_users) n (revoker)
     cross join runs r
     where r.id = any (losing);

    update runs r
       set grants = array_remove(r.grants, lost), last_seq = r.last_seq + 1
     where r.id = any (losing);
  end if;

  return query
  select n.run,
         case when r.id is null                                     then 'not_found'
              when losing is not null                               then 'revoked'
              when was_taken                                        then 'already'
              when r.status in ('completed', 'failed', 'canceled')  then 'ended'
              else 'not_granted'
         end,
         coalesce(cardinality(losing), 0)
    from unnest(p_runs, p_workspaces) n (run, workspace)
    left join runs r on r.id = n.run and r.workspace_id = n.workspace;
end
$$;
