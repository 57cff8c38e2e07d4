-- Nothing → queued. A run appears ready, with its first message, its grants and what is to run unasked in it, or it does not
-- appear at all.
-- The same start key again returns the run it started the first time; with another request behind it, `mismatch`.
create or replace function start_run(
  p_runs uuid[], p_workspaces uuid[], p_definitions uuid[], p_versions int[], p_users uuid[], p_titles text[],
  p_inputs text[], p_grants text[], p_keys text[], p_hashes text[], p_pages uuid[], p_nodes uuid[],
  p_dials text[], p_dials_until timestamptz[], p_approval_policies text[], p_ways text[], p_typed boolean[], p_blocking boolean
) returns table (run_id uuid, outcome text, started_id uuid)
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  started uuid[];
begin
  with inserted as (
    insert into runs (id, workspace_id, definition_id, definition_version, root_id, depth, started_by, title,
                      start_key, start_hash, page_id, node_id, grants, is_typed, status, ready_at, last_seq)
    select n.run, n.workspace, n.definition, n.version, n.run, 0, n.started_by, n.title,
           n.key, n.hash, n.page, n.node, string_to_array(n.grants, ','), n.is_typed, 'queued', clock_timestamp(), 1
      from unnest(p_runs, p_workspaces, p_definitions, p_versions, p_users, p_titles, p_grants, p_keys, p_hashes, p_pages, p_nodes,
                  p_typed)
           n (run, workspace, definition, version, started_by, title, grants, key, hash, page, node, is_typed)
      join definition_versions v on v.definition_id = n.definition and v.version = n.version
      join definitions d on d.id = v.definition_id and d.workspace_id = n.workspace
        on conflict do nothing
    returning id)
  select array_agg(id) into started from inserted;

  insert into run_log (run_id, seq, kind, actor, content)
  select n.run, 1, 'user', 'user:' || n.started_by, n.input
    from unnest(p_runs, p_users, p_inputs) n (run, started_by, input)
   where n.run = any (started);

  if array_to_string(p_dials || p_approval_policies, '') <> '' then
    insert into policies (scope_id, scope, workspace_id, dial_level, dial_expires_at, approval_policy)
    select n.run, 'run', n.workspace, n.dial, n.dial_until, n.policy
      from unnest(p_runs, p_workspaces, p_dials, p_dials_until, p_approval_policies) n (run, workspace, dial, dial_until, policy)
     where n.run = any (started) and coalesce(n.dial, n.policy) is not null;

    insert into audit (workspace_id, actor, action, run_id, subject, details)
    select n.workspace, 'user:' || n.started_by, 'dial.set', n.run, 'run:' || n.run,
           json_build_object('dial', n.dial, 'expiresAt', n.dial_until, 'approvalPolicy', n.policy, 'way', n.way)
      from unnest(p_runs, p_workspaces, p_users, p_dials, p_dials_until, p_approval_policies, p_ways)
           n (run, workspace, started_by, dial, dial_until, policy, way)
     where n.run = any (started) and coalesce(n.dial, n.policy) is not null;
  end if;

  return query
  select n.run,
         case when n.run = any (started)                        then 'started'
              when e.id is null                                 then 'unknown_definition'
              when e.start_hash is not distinct from n.hash     then 'existing'
              else 'mismatch'
         end,
         coalesce(e.id, n.run)
    from unnest(p_runs, p_workspaces, p_keys, p_hashes) n (run, workspace, key, hash)
    left join lateral (
         select r.id, r.start_hash from runs r where r.id = n.run
          union all
         select r.id, r.start_hash from runs r where r.workspace_id = n.workspace and r.start_key = n.key
          limit 1) e on true;
end
$$;
