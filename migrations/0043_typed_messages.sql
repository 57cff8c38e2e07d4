-- Whether a message came from a person who was signed in as themselves, with nobody acting for them: only such words may
-- speak for a command where its risk is judged. What a program relays is never known to be anybody's own.

alter table runs   add column is_typed boolean not null default false;
alter table steers add column is_typed boolean not null default false;
