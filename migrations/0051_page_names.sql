-- What a page is found by besides its title: other names, labels, and the words of its text. `names` are the title and the
-- aliases, in lower case and NFKC; links and look-ups go by them.

alter table pages add column labels            text[]      not null default '{}';
alter table pages add column aliases           text[]      not null default '{}';
alter table pages add column names             text[]      not null default '{}';
alter table pages add column name_words        tsvector    not null default '';
alter table pages add column removed_at        timestamptz;
-- The revision that the file it was imported from last made or agreed with: what a later import of that file is merged on.
alter table pages add column imported_revision int;
-- What that file held, where the page had been changed here as well and so became another.
alter table pages add column imported_source   text;
-- Why the frontmatter could not be read, where it could not; it is kept as it is all the same.
alter table pages add column problem           text;

update pages set names = array[lower(normalize(title, NFKC))], name_words = to_tsvector('simple', lower(title));
update pages set imported_revision = 1 where file_name is not null;

alter table nodes add column words tsvector not null default '';

update nodes set words = to_tsvector('simple', lower(text));

drop index pages_title_folded;
create index pages_names      on pages using gin (names);
create index pages_name_words on pages using gin (name_words);
create index pages_title_trgm on pages using gin (lower(title) gin_trgm_ops);
create index nodes_words      on nodes using gin (words);
create index pages_file       on pages (workspace_id, dir, file_name) where file_name is not null;
