import type { Sql } from "@countersign/db/connect.ts";

/**
 * Afterwards the planner knows how large the tables of pages are, where they have grown manifold since it was told last. A
 * connection keeps the plans that it made while they were small, those of the foreign keys among them, and with those each
 * page that comes reads whole tables: a first import takes time of the order of its square. Autovacuum tells the planner,
 * too, but only after a minute or more.
 */
export async function analyzeGrown(sql: Sql): Promise<void> {
  const [pages] = await sql<{ hasGrown: boolean }[]>`
    select pg_relation_size(oid) > 4 * greatest(relpages, 2) * current_setting('block_size')::bigint as "hasGrown"
      from pg_class where oid = 'pages'::regclass`;
  if (pages?.hasGrown === true)
    await sql`analyze (skip_locked) pages, nodes, node_ids, links, page_files, commands, directories`;
}
