-- Locks a run of the workspace and all its descendants, and returns them: nothing where there is no such run, null where,
-- not blocking, somebody holds a part of the tree. A run can be given a child only under its own lock, so the tree is
-- complete once a second look finds nothing new.
create or replace function lock_tree(p_run uuid, p_workspace uuid, p_blocking boolean) returns uuid[]
language plpgsql volatile as $$
declare
  tree  uuid[];
  known uuid[] := '{}';
begin
  loop
    with recursive family as (
      select r.id from runs r where r.id = p_run and r.workspace_id = p_workspace
       union
      select c.id from family f join runs c on c.parent_id = f.id)
    select coalesce(array_agg(id order by id), '{}') into tree from family;
    exit when tree = known;
    if cardinality(lock_runs(tree, p_blocking)) < cardinality(tree) then
      return null;
    end if;
    known := tree;
  end loop;
  return tree;
end
$$;
