-- To be called before the policies of scopes change, with the scopes in the lock order of every commit (app, workspaces,
-- definitions): waits for the commits that are just beginning something under them, and lets no further one begin before
-- this one ends. Not for the scope of a run, whose lock does the same.
create or replace function seize_policies(p_scope_ids uuid[]) returns void
language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock(policy_lock(s.id))
     from (select s.id from unnest(p_scope_ids) with ordinality s (id, n) order by s.n offset 0) s;
end
$$;
