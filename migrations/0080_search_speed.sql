-- A search asks for words and for a text at once, so one index holds both: what each of the two finds in plenty is then
-- put together within the index, by the rarest first. And most people may see nearly all pages, so a query that goes over
-- many nodes looks up what is hidden, which is little, and not what is seen.

create index nodes_found on nodes using gin (words, text gin_trgm_ops);
drop index nodes_words;
drop index nodes_text;

create index pages_removed on pages (workspace_id, id) where removed_at is not null;

-- The pages whose nodes a person is not to be shown, or not to change: removed ones, and those that the rules close.
-- Called in the select list, as `page_id not in (select hidden_pages(…))`: there `rows` is what the planner goes by, and
-- the ids become a hash table once, which is looked up for each node.
create function hidden_pages(p_workspace_id uuid, p_user_id uuid, p_need text) returns setof uuid
language sql stable rows 100 as $$
  select p.id from pages p where p.workspace_id = p_workspace_id and p.removed_at is not null
  union all
  select p.id
    from closed_directories(p_workspace_id, p_user_id, p_need) as c (dir)
    join pages p on p.workspace_id = p_workspace_id and p.dir = c.dir
   where p.id not in (select r.page_id from pages_with_rules(p_workspace_id, p_user_id, p_need) r where r.is_open)
  union all
  select r.page_id from pages_with_rules(p_workspace_id, p_user_id, p_need) r where not r.is_open
$$;
