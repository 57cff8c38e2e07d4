import type { Queryable } from "@countersign/db/connect.ts";
import { parseExact } from "@countersign/engine/exact-text.ts";
import type { Run, RunDetail } from "../shapes/runs.ts";
import { lastId } from "./ids.ts";
import { type Owned, readGrouped, readOwned } from "./read-grouped.ts";

/**
 * SQL: the runs that `where` finds, as people read them: one under a kill switch reads paused on `kill`, whatever its row
 * says, since nothing is written per run when the switch goes on.
 */
function selectRuns(where: string): string {
  return `
  with switches as (
    select scope, scope_id from policies where killed_at is not null and (workspace_id = $1 or scope = 'app'))
  select * from (
    select r.id, r.title, d.name as definition, r.definition_version as "definitionVersion",
           case when s.is_held then 'paused' else r.status end as status,
           case when s.is_held then 'kill' else r.waits_on end as "waitsOn",
           case when s.is_held then k.scope end as "heldBy",
           r.parent_id as "parentId", r.root_id as "rootId", json_build_object('id', u.id, 'name', u.name) as "startedBy",
           r.turns, r.call_count as "callCount", r.input_tokens as "inputTokens", r.output_tokens as "outputTokens",
           r.cost_micros as "costMicros", r.unread, r.last_seq as "lastSeq", r.end_reason as "endReason",
           r.created_at as "createdAt", r.finished_at as "finishedAt", r.grants, r.output
      from runs r
      join definitions d on d.id = r.definition_id
      join users u       on u.id = r.started_by
      left join lateral (
           select scope from switches w
            where w.scope_id in ('00000000-0000-0000-0000-000000000000', r.workspace_id, r.definition_id, r.id)
            order by scope limit 1) k on true
     cross join lateral (select k.scope is not null and r.status not in ('completed', 'failed', 'canceled') as is_held) s
     where r.workspace_id = $1 and ${where}) r`;
}

const byIds = `
  select r.*, (select json_build_object(
                        'calls', count(*), 'inputTokens', coalesce(sum(l.input_tokens), 0), 'outputTokens', coalesce(sum(l.output_tokens), 0),
                        'costMicros', coalesce(sum(l.cost_micros), 0),
                        'latencyMs', coalesce(sum((l.content::json ->> 'latencyMs')::bigint), 0))
                 from run_log l
                where l.run_id = r.id and l.kind = 'call.classified') as classifier
    from (${selectRuns("r.id = any ($2::uuid[])")}) r`;

const all = `${selectRuns("r.id < $2::uuid")}
  order by id desc limit $3::int + 1`;

const ofStatus = `${selectRuns("r.id < $2::uuid and r.status = any ($5::text[])")}
  where status = $4 order by id desc limit $3::int + 1`;

type Status = Run["status"];

/** What the row of a run says that reads as the given status: under a kill switch every live one may read paused. */
const storedAs: Readonly<Record<Status, readonly Status[]>> = {
  queued: ["queued"],
  running: ["running"],
  paused: ["queued", "running", "paused"],
  completed: ["completed"],
  failed: ["failed"],
  canceled: ["canceled"],
};

type Row = Run & { grants: string[]; output: string | null };
type DetailRow = Row & Pick<RunDetail, "classifier">;

/** A page of the workspace's runs before `cursorId`, newest first; one more than `limit` where the list goes on. */
export async function readRuns(
  sql: Queryable,
  asked: {
    readonly workspaceId: string;
    readonly status: Status | undefined;
    readonly cursorId: string | undefined;
    readonly limit: number;
  },
): Promise<Run[]> {
  const { workspaceId, status, cursorId = lastId, limit } = asked;
  const rows =
    status === undefined
      ? await sql.unsafe<Row[]>(all, [workspaceId, cursorId, limit], { prepare: true })
      : await sql.unsafe<Row[]>(ofStatus, [workspaceId, cursorId, limit, status, [...storedAs[status]]], {
          prepare: true,
        });
  return rows.map(({ grants: _grants, output: _output, ...run }) => run);
}

/** One run with its grants and its output; undefined where the workspace has none of this id. */
export async function readRun(sql: Queryable, workspaceId: string, id: string): Promise<RunDetail | undefined> {
  return await readOne(sql, { workspaceId, id });
}

const readOne = readGrouped((sql, asked: readonly Owned[]) =>
  readOwned(asked, async (workspaceId, ids) => {
    const rows = await sql.unsafe<DetailRow[]>(byIds, [workspaceId, [...ids]], { prepare: true });
    return rows.map((row): RunDetail => ({ ...row, output: row.output === null ? null : parseExact(row.output) }));
  }),
);
