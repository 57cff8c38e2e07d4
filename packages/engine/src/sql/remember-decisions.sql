-- The rules that decisions leave behind, in their own commit, which holds their runs, and after they were made. The policies
-- of all other scopes are seized first and in the order of every commit, since the rules are written one way of
-- authentication at a time.
--   p_rules: JSON of each: id, and where the rule is narrower or wider than the tool of the call: entries, covers, expiresMs.
create or replace function remember_decisions(p_rules text[], p_approvals uuid[], p_scopes text[], p_users uuid[], p_ways text[]) returns void
language plpgsql volatile as $$
declare
  way text;
begin
  perform seize_policies(array(
    select s.scope_id
      from unnest(p_approvals, p_scopes) n (approval, scope)
      join approvals a on a.id = n.approval
      join runs r      on r.id = a.run_id
     cross join lateral (select case n.scope when 'definition' then r.definition_id else r.workspace_id end as scope_id) s
     where n.scope <> 'run'
     group by n.scope, s.scope_id
     order by array_position(array['workspace', 'definition'], n.scope), s.scope_id));

  for way in select distinct w from unnest(p_ways) w order by w loop
    perform remember_rules(
              array_agg((n.rule ->> 'id')::uuid), array_agg(n.approval), array_agg(n.scope), array_agg(null::text), array_agg(null::text),
              array_agg((n.rule -> 'entries')::text), array_agg(n.rule ->> 'covers'), array_agg((n.rule ->> 'expiresMs')::bigint),
              array_agg(n.user_id), way)
       from unnest(p_rules::json[], p_approvals, p_scopes, p_users, p_ways) n (rule, approval, scope, user_id, way_of)
      where n.way_of is not distinct from way;
  end loop;
end
$$;
