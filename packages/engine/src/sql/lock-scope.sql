-- Holds a scope still for a change of its policy: its run, or its row of `policies`, which every scope but a run has from
-- its beginning. Answers whether the workspace has such a scope; the app's is nobody's.
create or replace function lock_scope(p_scope text, p_scope_id uuid, p_workspace uuid) returns boolean
language plpgsql volatile as $$
begin
  if p_scope = 'run' then
    perform lock_runs(array[p_scope_id], true);
    perform 1 from policies p where p.scope_id = p_scope_id for no key update;
    return exists (select 1 from runs r where r.id = p_scope_id and r.workspace_id = p_workspace);
  end if;
  perform seize_policies(array[p_scope_id]);
  perform 1
     from policies p
    where p.scope_id = p_scope_id and p.scope = p_scope and p.workspace_id is not distinct from p_workspace
      for no key update;
  return found;
end
$$;
