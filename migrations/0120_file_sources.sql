-- A file that was merged into a page which had changed here too says what no revision says. What it held is kept by its
-- SHA-256, the last of each page, so that a later state of it is compared with that one, whichever folder it comes from.
create table file_sources (
  workspace_id  uuid  not null,
  page_id       uuid  not null,
  sha256        text  not null,
  -- The page's once the file was merged into it.
  revision      int   not null,
  source        text  not null,
  primary key (page_id, sha256),
  foreign key (workspace_id, page_id) references pages (workspace_id, id)
);

-- Where this is null, what the file held is what the page said at `imported_revision`.
alter table page_files add column imported_sha256 text;

update page_files set imported_sha256 = encode(sha256(convert_to(imported_source, 'UTF8')), 'hex')
 where imported_source is not null;

insert into file_sources (workspace_id, page_id, sha256, revision, source)
select distinct on (page_id, imported_sha256) workspace_id, page_id, imported_sha256, imported_revision, imported_source
  from page_files where imported_source is not null
 order by page_id, imported_sha256, imported_revision desc;

alter table page_files drop column imported_source;
