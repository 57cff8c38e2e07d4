-- A token that has run out is refreshed by one caller at a time, with no transaction open across the request: whoever sets
-- the marker refreshes, everybody else waits for the new version. A marker that has passed belongs to nobody.

alter table secrets add column refreshing_until timestamptz;
