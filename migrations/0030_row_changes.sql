-- Whoever watches a workspace asks which rows changed since it last looked. A row carries the transaction that last
-- changed what people see of it, so "since" is exact whatever the order of the commits: a row is new to a watcher where
-- that transaction was not visible in the snapshot it had. The same row is found once however often it changed, nothing
-- has to be removed again, and commits write no row more than before.
--
-- A trigger, and not the commits themselves, since none may forget it. Its condition passes over what nobody sees, such as
-- a lease that is renewed.

create function stamp_change() returns trigger language plpgsql as $$
begin
  new.changed := pg_current_xact_id();
  return new;
end
$$;

alter table runs     add column changed xid8 not null default pg_current_xact_id();
alter table tasks    add column changed xid8 not null default pg_current_xact_id();
alter table policies add column changed xid8 not null default pg_current_xact_id();

create index runs_changed     on runs     (changed);
create index tasks_changed    on tasks    (changed);
create index policies_changed on policies (changed);

create trigger runs_changed before update on runs for each row
  when ((old.status, old.waits_on, old.last_seq, old.unread, old.title)
        is distinct from (new.status, new.waits_on, new.last_seq, new.unread, new.title))
  execute function stamp_change();

create trigger tasks_changed before update on tasks for each row
  when ((old.status, old.title, old.section) is distinct from (new.status, new.title, new.section))
  execute function stamp_change();

create trigger policies_changed before update on policies for each row execute function stamp_change();
