-- How people sign in with a browser. A session is a token that the browser alone holds, in a cookie no script can read;
-- one list shows and revokes both. It begins with a link that works once.

alter table tokens add column kind       text not null default 'token' check (kind in ('token', 'session'));
alter table tokens add column user_agent text;

-- Only the hash of the code in the link is stored. The session has no more rights than whoever made the link.
create table login_links (
  id            uuid        primary key,
  workspace_id  uuid        not null references workspaces,
  user_id       uuid        not null references users,
  hash          text        not null unique,
  may_decide    boolean     not null,
  created_by    uuid,
  created_at    timestamptz not null default clock_timestamp(),
  expires_at    timestamptz not null,
  used_at       timestamptz
);

create index login_links_old on login_links (expires_at);
