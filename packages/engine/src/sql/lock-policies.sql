-- Holds still the policy the given runs are judged under until the commit ends. The runs are locked already, so a run
-- that has no policy row of its own cannot be given one meanwhile.
create or replace function lock_policies(p_ids uuid[]) returns void
language plpgsql volatile as $$
begin
  perform 1
     from policies p
    where p.scope_id in (
            select s.scope_id
              from runs r
             cross join lateral (values ('00000000-0000-0000-0000-000000000000'::uuid), (r.workspace_id), (r.definition_id), (r.id)) s (scope_id)
             where r.id = any (p_ids))
    order by array_position(array['app', 'workspace', 'definition', 'run'], p.scope), p.scope_id
      for share;
end
$$;
