-- The policy a run is judged under, as it stands now: the versions of its four scopes as one text, the scope that holds
-- it if any is killed, and the time before which nothing of it may expire (15 minutes after the last lift).
create or replace function policy_of(p_ids uuid[])
returns table (run_id uuid, versions text, killed text, expires_not_before timestamptz)
language sql stable as $$
  select r.id, s.versions, s.killed, s.expires_not_before
    from runs r
   cross join lateral (
         select max(case p.scope when 'app'        then p.version else 0 end) || '.' ||
                max(case p.scope when 'workspace'  then p.version else 0 end) || '.' ||
                max(case p.scope when 'definition' then p.version else 0 end) || '.' ||
                max(case p.scope when 'run'        then p.version else 0 end)  as versions,
                min(p.scope) filter (where p.killed_at is not null)            as killed,
                max(p.lifted_at) + interval '15 minutes'                       as expires_not_before
           from policies p
          where p.scope_id in ('00000000-0000-0000-0000-000000000000', r.workspace_id, r.definition_id, r.id)) s
   where r.id = any (p_ids)
$$;
