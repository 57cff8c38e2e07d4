-- Holds a scope still for a change of its policy. Answers whether the workspace has such a scope; the app's is nobody's.
-- Every scope but a run has its row of `policies` from its beginning.
create or replace function lock_scope(p_scope text, p_scope_id uuid, p_workspace uuid) returns boolean
language plpgsql volatile as $$
begin
  if p_scope = 'run' then
    perform lock_runs(array[p_scope_id], true);
    return exists (select 1 from runs r where r.id = p_scope_id and r.workspace_id = p_workspace);
  end if;
  perform seize_policies(array[p_scope_id]);
  return exists (
    select 1
      from policies p
     where p.scope_id = p_scope_id and p.scope = p_scope and p.workspace_id is not distinct from p_workspace);
end
$$;
