-- Locks the given runs in the one order every commit uses (depth in the tree, then id) and returns those it holds.
-- Not blocking, it passes over rows somebody else holds: a batch must not wait for one of its members.
create or replace function lock_runs(p_ids uuid[], p_blocking boolean) returns uuid[]
language plpgsql volatile as $$
declare
  locked uuid[];
begin
  if p_blocking then
    select array_agg(l.id) into locked
      from (select r.id from runs r where r.id = any (p_ids) order by r.depth, r.id for no key update) l;
  else
    select array_agg(l.id) into locked
      from (select r.id from runs r where r.id = any (p_ids) order by r.depth, r.id for no key update skip locked) l;
  end if;
  return coalesce(locked, '{}');
end
$$;
