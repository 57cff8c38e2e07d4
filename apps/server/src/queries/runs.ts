import type { Queryable } from "@countersign/db/connect.ts";
import { parseExact } from "@countersign/engine/exact-text.ts";
import { isGuarded } from "@countersign/ops/visible.ts";
import { type Run, type RunDetail, runStatus } from "../shapes/runs.ts";
import { hideInText, hideInValue } from "./hide-secrets.ts";
import { lastId } from "./ids.ts";
import { type Owned, readGrouped, readOwned } from "./read-grouped.ts";
import { hideInHeldBy, scopesOfRun, switchOfRun } from "./switches.ts";

/**
 * SQL: the runs of the ids that `ids` gives, as people read them: one under a kill switch reads paused on `kill`, whatever
 * its row says, since nothing is written per run when the switch goes on.
 */
function selectRuns(ids: string): string {
  return `
  select r.id, r.title, d.name as definition, r.definition_version as "definitionVersion",
         case when s.is_held then 'paused' else r.status end as status,
         case when s.is_held then 'kill' else r.waits_on end as "waitsOn",
         case when s.is_held then ${switchOfRun} end as "heldBy",
         r.parent_id as "parentId", r.root_id as "rootId", json_build_object('id', u.id, 'name', u.name) as "startedBy",
         r.turns, r.call_count as "callCount", r.input_tokens as "inputTokens", r.output_tokens as "outputTokens",
         r.cost_micros as "costMicros", r.unread, r.last_seq as "lastSeq", r.end_reason as "endReason",
         r.created_at as "createdAt", r.finished_at as "finishedAt", r.grants, r.output,
         ${isGuarded} as "isGuarded"
    from runs r
    join definitions d on d.id = r.definition_id
    join users u       on u.id = r.started_by
   cross join lateral (
         select r.status not in ('completed', 'failed', 'canceled')
                and exists (select from switches w where w.scope_id in ${scopesOfRun}) as is_held) s
   where r.workspace_id = $1 and r.id = any (${ids})`;
}

/** SQL: the kill switches that are on for anything of the workspace $1. */
const switches = `
  select scope, scope_id from policies where killed_at is not null and (workspace_id = $1 or scope = 'app')`;

const byIds = `
  with switches as (${switches})
  select r.*, (select json_build_object(
                        'calls', count(*), 'inputTokens', coalesce(sum(l.input_tokens), 0), 'outputTokens', coalesce(sum(l.output_tokens), 0),
                        'costMicros', coalesce(sum(l.cost_micros), 0),
                        'latencyMs', coalesce(sum((l.content::json ->> 'latencyMs')::bigint), 0))
                 from run_log l
                where l.run_id = r.id and l.kind = 'call.classified') as classifier
    from (${selectRuns("$2::uuid[]")}) r`;

/**
 * SQL: a page of the runs of the status $4, of any where it is null: the newest of each status as it is stored, and the
 * newest of those. A status whose runs all read as another, or none of whose runs reads as the one asked for, is not
 * walked through. Status and id are compared and ordered as one, so that no plan goes through the ids of all for a rare one.
 */
const listed = `
  with switches as (${switches}),
  stored as materialized (
    select s.status, s.status in ('queued', 'running') as may_be_held from unnest($5::text[]) s (status)
     where $4::text is null or s.status not in ('queued', 'running')
        or case when $4 = 'paused' then exists (select from switches)
                else not exists (select from switches where scope in ('app', 'workspace')) end),
  page as materialized (
    select newest.id
      from stored
     cross join lateral (
           select r.id from runs r
            where r.workspace_id = $1 and (r.status, r.id) < (stored.status, $2::uuid) and r.status >= stored.status
              and ($4::text is null or not stored.may_be_held
                   or exists (select from switches w where w.scope_id in ${scopesOfRun}) = ($4 = 'paused'))
            order by r.status desc, r.id desc limit $3::int + 1) newest
     order by newest.id desc limit $3::int + 1)
  select * from (${selectRuns("array(select id from page)")}) r order by id desc`;

type Status = Run["status"];

const statuses: readonly Status[] = runStatus.options;

/** What the row of a run says that reads as the given status: under a kill switch every live one may read paused. */
const storedAs: Readonly<Record<Status, readonly Status[]>> = {
  queued: ["queued"],
  running: ["running"],
  paused: ["queued", "running", "paused"],
  completed: ["completed"],
  failed: ["failed"],
  canceled: ["canceled"],
};

/** As it is found, whoever asks; `isGuarded`: it is not for everybody to read. */
export type FoundRun = RunDetail & { readonly isGuarded: boolean };

type Row = Run & { isGuarded: boolean; grants: string[]; output: string | null };
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
): Promise<(Run & { readonly isGuarded: boolean })[]> {
  const { workspaceId, status, cursorId = lastId, limit } = asked;
  const stored = status === undefined ? statuses : storedAs[status];
  const rows = await sql.unsafe<Row[]>(listed, [workspaceId, cursorId, limit, status ?? null, [...stored]], {
    prepare: true,
  });
  return rows.map(({ grants: _grants, output: _output, ...run }) => hideInShown(run));
}

/** One run with its grants and its output; undefined where the workspace has none of this id. */
export async function readRun(sql: Queryable, workspaceId: string, id: string): Promise<FoundRun | undefined> {
  return await readOne(sql, { workspaceId, id });
}

const readOne = readGrouped((sql, asked: readonly Owned[]) =>
  readOwned(asked, async (workspaceId, ids) => {
    const rows = await sql.unsafe<DetailRow[]>(byIds, [workspaceId, [...ids]], { prepare: true });
    return rows.map((row): FoundRun => ({
      ...hideInShown(row),
      output: row.output === null ? null : hideInValue(parseExact(row.output)),
    }));
  }),
);

function hideInShown<R extends Run>(run: R): R {
  return {
    ...run,
    title: hideInText(run.title),
    endReason: hideInText(run.endReason),
    heldBy: hideInHeldBy(run.heldBy),
  };
}
