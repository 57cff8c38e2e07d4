-- A link by path waits for a file anew once its page is removed, so links with a page are looked up by their file, too.

drop index links_files;
create index links_files on links (workspace_id, file_name) where kind = 'path';
