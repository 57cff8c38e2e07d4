-- What is written to a GIN index first waits in a list, which every search reads through from end to end: with the usual 4 MB
-- that cost more than all the rest of the search, until a vacuum came by. Of these, each search reads little.

alter index nodes_found      set (gin_pending_list_limit = 128);
alter index pages_names      set (gin_pending_list_limit = 64);
alter index pages_name_words set (gin_pending_list_limit = 64);
alter index pages_title_trgm set (gin_pending_list_limit = 64);

select gin_clean_pending_list(i::regclass)
  from unnest('{nodes_found,pages_names,pages_name_words,pages_title_trgm}'::text[]) as i;
