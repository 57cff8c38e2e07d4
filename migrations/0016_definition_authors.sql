-- The history of a definition says who made each version; those that came with the installation have no author.

alter table definition_versions add column created_by uuid;
