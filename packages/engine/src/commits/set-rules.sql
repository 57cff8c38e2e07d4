-- The rules of one scope change, all of them or none. Each change names its target, and may name the version of the rule
-- that was seen there (0: there was none); where one finds another version, nothing is changed and the stale ones are
-- returned. A mode of null takes the rule away. A rule that already says the same stays as it is. With any change the
-- scope's policy version moves, and workers judge the open approvals of the tools it covers again.
create or replace function set_rules(
  p_scope text, p_scope_id uuid, p_workspace uuid, p_user uuid, p_way text,
  p_ids uuid[], p_target_kinds text[], p_target_names text[], p_modes text[], p_locked boolean[], p_entries text[],
  p_expires_at timestamptz[], p_covers text[], p_seen_versions int[]
) returns table (outcome text, target_kind text, target_name text, id uuid, version int, waiting int)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  outcomes text[];
  changing boolean;
begin
  if not lock_scope(p_scope, p_scope_id, p_workspace) then
    return query select 'not_found', null::text, null::text, null::uuid, null::int, 0;
    return;
  end if;

  select array_agg(case
                     when n.seen <> coalesce(r.version, 0)                                      then 'stale'
                     when n.mode is null and r.id is null                                       then 'unchanged'
                     when n.mode is null                                                        then 'cleared'
                     when r.mode = n.mode and r.is_locked = n.is_locked and r.entries::text is not distinct from n.entries
                          and r.expires_at is not distinct from n.expires_at                    then 'unchanged'
                     else 'written'
                   end order by n.at)
    into outcomes
    from unnest(p_target_kinds, p_target_names, p_modes, p_locked, p_entries, p_expires_at, p_seen_versions)
         with ordinality n (target_kind, target_name, mode, is_locked, entries, expires_at, seen, at)
    left join rules r
      on r.scope_id = p_scope_id and r.target_kind = n.target_kind and r.target_name = n.target_name
     and r.revoked_at is null and not r.is_remembered;

  changing := 'stale' <> all (outcomes) and ('written' = any (outcomes) or 'cleared' = any (outcomes));

  if changing then
    perform write_rules(
              coalesce(array_agg(n.id order by n.at), '{}'), array_agg(p_scope order by n.at), array_agg(p_scope_id order by n.at),
              array_agg(p_workspace order by n.at), array_agg(n.target_kind order by n.at), array_agg(n.target_name order by n.at),
              array_agg(n.mode order by n.at), array_agg(n.is_locked order by n.at), array_agg(n.entries order by n.at),
              array_agg(false order by n.at), array_agg(null::text order by n.at), array_agg(n.expires_at order by n.at),
              array_agg(n.covers order by n.at), array_agg(null::uuid order by n.at), array_agg(p_user order by n.at), p_way)
       from unnest(p_ids, p_target_kinds, p_target_names, p_modes, p_locked, p_entries, p_expires_at, p_covers, outcomes)
            with ordinality n (id, target_kind, target_name, mode, is_locked, entries, expires_at, covers, outcome, at)
      where n.outcome = 'written'
     having count(*) > 0;

    perform drop_rules(
              array_agg(r.id), coalesce('user:' || p_user, 'system:configuration'), 'cleared', p_way, array_agg(n.covers))
       from unnest(p_target_kinds, p_target_names, p_covers, outcomes) n (target_kind, target_name, covers, outcome)
       join rules r
         on r.scope_id = p_scope_id and r.target_kind = n.target_kind and r.target_name = n.target_name
        and r.revoked_at is null and not r.is_remembered
      where n.outcome = 'cleared'
     having count(*) > 0;
  end if;

  return query
  select n.outcome, n.target_kind, n.target_name, r.id, r.version,
         case when changing and n.outcome <> 'unchanged' then count_waiting(p_scope, p_scope_id, p_workspace, n.covers) else 0 end
    from unnest(p_target_kinds, p_target_names, p_covers, outcomes) with ordinality n (target_kind, target_name, covers, outcome, at)
    left join rules r
      on r.scope_id = p_scope_id and r.target_kind = n.target_kind and r.target_name = n.target_name
     and r.revoked_at is null and not r.is_remembered
   order by n.at;
end
$$;
