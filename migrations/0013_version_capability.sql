-- A version of a secret opens only as what it was sealed as, and a name may come to serve another capability later: each
-- version keeps the capability it was sealed for, or it could be neither sealed to a new key nor recognised in a result.

alter table secret_versions add column capability text;

update secret_versions v set capability = s.capability from secrets s where s.id = v.secret_id;

alter table secret_versions alter column capability set not null;
