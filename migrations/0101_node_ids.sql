-- Every id that a node ever had, and the page it is of: also where the node was removed, so that undo can bring it back and
-- no other page takes it meanwhile.
create table node_ids (
  id       uuid  primary key,
  page_id  uuid  not null
);

insert into node_ids (id, page_id) select id, page_id from nodes;

insert into node_ids (id, page_id)
select distinct on (id) (n ->> 'id')::uuid as id, c.page_id
  from commands c
 cross join lateral unnest(array[c.before, c.after]) as state
 cross join lateral json_array_elements(state::json -> 'nodes') as n
 where json_typeof(state::json -> 'nodes') = 'array'
 order by id, c.id
    on conflict (id) do nothing;
