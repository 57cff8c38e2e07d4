-- An approval that was given more time is reminded of once more, and each of that is an event of its own: deliveries of what
-- can happen to one subject again are told apart by its moment. All others happen once.
alter table webhook_deliveries add column moment timestamptz not null default '-infinity';

update webhook_deliveries
   set moment = (payload::json ->> 'timestamp')::timestamptz
 where event in ('approval.reminded', 'approval.escalated');

drop index webhook_deliveries_once;
create unique index webhook_deliveries_once on webhook_deliveries (endpoint_id, event, subject, moment) where redelivers is null;
