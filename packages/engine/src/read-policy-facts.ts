import type { Queryable } from "@countersign/db/connect.ts";
import type { PolicyFacts } from "./policy.ts";
import { asRead } from "./run-snapshot.ts";

const canAnybodyAnswer = `exists (
  select 1 from users u
   where u.workspace_id = $1::uuid and u.role in ('approver', 'admin') and u.disabled_at is null)`;

const databaseTime = `(extract(epoch from clock_timestamp()) * 1000)::float8 as "databaseTime"`;

const ofRuns = `
  select r.id as "runId", ${databaseTime}, p.versions as "policyVersions", p.killed, y.policy, r.grants,
         ${canAnybodyAnswer} as "canAnybodyAnswer",
         coalesce((select json_agg(json_build_object('approvalId', d.approval_id, 'tool', d.tool, 'argsHash', coalesce(d.run_args_hash, d.args_hash)))
                     from tool_calls d where d.run_id = r.id and d.result_code = 'user_denied'), '[]') as denials
    from runs r
    join policy_of($2::uuid[]) p on p.run_id = r.id
   cross join lateral stored_policy(r.workspace_id, r.definition_id, r.id) y
   where r.workspace_id = $1::uuid and r.id = any ($2::uuid[])`;

const ofScope = `
  select coalesce((select string_agg(p.version::text, '.' order by p.scope) from policies p where p.scope_id in ('00000000-0000-0000-0000-000000000000', $1::uuid, $2::uuid)), '') as "policyVersions",
         (select min(p.scope) from policies p
           where p.scope_id in ('00000000-0000-0000-0000-000000000000', $1::uuid, $2::uuid) and p.killed_at is not null) as killed,
         ${databaseTime}, y.policy, ${canAnybodyAnswer} as "canAnybodyAnswer"
    from stored_policy($1::uuid, $2::uuid, null) y`;

/** What the policies of runs of the workspace are made of, as they stand now, by run. Read only. */
export async function readPolicyFactsOfRuns(
  sql: Queryable,
  workspaceId: string,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, PolicyFacts>> {
  const rows = await sql.unsafe<(Omit<PolicyFacts, "readAt"> & { readonly runId: string })[]>(
    ofRuns,
    [workspaceId, [...runIds]],
    {
      prepare: true,
    },
  );
  return new Map(rows.map(({ runId, ...facts }) => [runId, asRead(facts)]));
}

/** The same of one run; undefined where the workspace has no such run. */
export async function readPolicyFacts(
  sql: Queryable,
  workspaceId: string,
  runId: string,
): Promise<PolicyFacts | undefined> {
  return (await readPolicyFactsOfRuns(sql, workspaceId, [runId])).get(runId);
}

/** The same for a run that a definition would start now, with these grants; without one, for the workspace itself. */
export async function readPolicyFactsOfScope(
  sql: Queryable,
  workspaceId: string,
  definitionId: string | undefined,
  grants: readonly string[],
): Promise<PolicyFacts> {
  const rows = await sql.unsafe<Omit<PolicyFacts, "readAt" | "grants" | "denials">[]>(
    ofScope,
    [workspaceId, definitionId ?? null],
    { prepare: true },
  );
  const [row] = rows;
  if (row === undefined) throw new Error("stored_policy answers one row");
  return { ...asRead(row), grants, denials: [] };
}
