-- The app's layer of policy comes from a configuration file: this is the last part of the commit that takes one in, after
-- its rules and its dial were set. The row keeps which file that was, and what the file softens of the denylist.
create or replace function configure_app(p_hash text, p_softened text[]) returns void
language plpgsql volatile as $$
begin
  perform move_policies(array['app'], array['00000000-0000-0000-0000-000000000000'::uuid], array[null::uuid], array[null::text])
    from policies p
   where p.scope = 'app' and p.softened is distinct from p_softened;

  update policies p set softened = p_softened, configuration_hash = p_hash where p.scope = 'app';

  insert into audit (workspace_id, actor, action, subject, details)
  values ('00000000-0000-0000-0000-000000000000', 'system:configuration', 'policy.configured', 'app',
          json_build_object('hash', p_hash, 'softened', p_softened));
end
$$;
