-- Memory: what an agent proposes to remember. A proposal is text in a list and nothing more, until a person accepts it;
-- then it is a bullet of a page. `text_key` is the same for proposals that say the same.

create table memory_proposals (
  id            uuid        primary key,
  workspace_id  uuid        not null references workspaces,
  kind          text        not null,
  text          text        not null,
  text_key      text        not null,
  status        text        not null default 'proposed' check (status in ('proposed', 'accepted', 'dismissed', 'duplicate')),
  duplicate_of  uuid        references memory_proposals,
  run_id        uuid,
  proposed_by   text        not null,
  proposed_at   timestamptz not null default clock_timestamp(),
  settled_at    timestamptz,
  settled_by    text,
  page_id       uuid,
  node_id       uuid,
  check ((status = 'proposed')  = (settled_at is null)),
  check ((status = 'duplicate') = (duplicate_of is not null)),
  check ((status = 'accepted')  = (page_id is not null))
);

create index memory_proposals_list on memory_proposals (workspace_id, status, id);
create index memory_proposals_same on memory_proposals (workspace_id, kind, text_key, id);
