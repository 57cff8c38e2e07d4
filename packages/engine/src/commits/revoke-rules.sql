-- Rules of one scope are taken back: each by its id and the version that was seen, so that a list that has changed
-- meanwhile cannot name another; or, with p_ids null, all that the scope remembers. Written rules go this way too. One
-- that is stale or gone leaves the others as asked: each says for itself what became of it.
create or replace function revoke_rules(
  p_scope text, p_scope_id uuid, p_workspace uuid, p_user uuid, p_way text, p_reason text,
  p_ids uuid[], p_versions int[], p_covers text[]
) returns table (outcome text, id uuid, version int, waiting int)
language plpgsql volatile as $$
#variable_conflict use_column
declare
  asked    uuid[];
  outcomes text[];
  revoking uuid[];
  covers   text[];
begin
  if not lock_scope(p_scope, p_scope_id, p_workspace) then
    return query select 'not_found', null::uuid, null::int, 0;
    return;
  end if;

  with named as (
    select n.rule, n.seen, n.covers from unnest(p_ids, p_versions, p_covers) n (rule, seen, covers)
     union all
    select r.id, r.version, case r.target_kind when 'tool' then r.target_name end
      from rules r
     where p_ids is null and r.scope_id = p_scope_id and r.is_remembered and r.revoked_at is null)
  select array_agg(n.rule order by n.rule), array_agg(v.outcome order by n.rule),
         array_agg(n.rule order by n.rule)   filter (where v.outcome = 'revoked'),
         array_agg(n.covers order by n.rule) filter (where v.outcome = 'revoked')
    into asked, outcomes, revoking, covers
    from named n
    left join rules r on r.id = n.rule and r.scope_id = p_scope_id
   cross join lateral (
         select case
                  when r.id is null             then 'not_found'
                  when r.revoked_at is not null then 'already'
                  when r.version <> n.seen      then 'stale'
                  else 'revoked'
                end as outcome) v;

  if revoking is not null then
    perform drop_rules(revoking, 'user:' || p_user, coalesce(p_reason, 'revoked'), p_way, covers);
  end if;

  return query
  select k.outcome, k.rule, r.version,
         case k.outcome when 'revoked'
              then count_waiting(p_scope, p_scope_id, p_workspace, case r.target_kind when 'tool' then r.target_name end)
              else 0 end
    from unnest(asked, outcomes) k (rule, outcome)
    left join rules r on r.id = k.rule and k.outcome <> 'not_found'
   order by k.rule;
end
$$;
