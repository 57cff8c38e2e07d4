-- What pages mean, as an embedding model has it: a vector for each part of a page, so that search also finds what shares no
-- word with the question. They are plain arrays, the same tables in every installation; only where vectors are switched on
-- and the extension is there are they compared, as `halfvec`, over an index that the worker makes. Nothing here is written
-- by an edit: the worker finds by its revision which page it has not looked at.

-- Pages that were looked at. A page is due where model, dimensions or revision are not those of now, and `due_at` is past:
-- whoever works on it, and whatever went wrong with it, puts that into the future.
create table embedded_pages (
  page_id       uuid        primary key,
  workspace_id  uuid        not null,
  model         text,
  dims          int,
  revision      int,
  attempts      int         not null default 0,
  due_at        timestamptz not null default '-infinity',
  problem       text,
  foreign key (workspace_id, page_id) references pages (workspace_id, id)
);

-- `node_id` is the first node of the part that is no heading, `text_hash` that of the text that was sent: what is as it was is not sent
-- again. Each is of length 1, so that small numbers keep their digits as `halfvec`.
create table page_vectors (
  page_id       uuid    not null references embedded_pages on delete cascade,
  part          int     not null,
  workspace_id  uuid    not null,
  model         text    not null,
  dims          int     not null,
  node_id       uuid,
  text_hash     text    not null,
  embedding     real[]  not null,
  primary key (page_id, part),
  check (cardinality(embedding) = dims)
);

-- Compressing such numbers costs time and saves nothing.
alter table page_vectors alter column embedding set storage external;

-- Tells who sees how many, without the vectors.
create index page_vectors_of on page_vectors (workspace_id, model, dims, page_id);
