import type { Queryable } from "@countersign/db/connect.ts";
import { definitionSpec } from "@countersign/engine/definition.ts";
import { declaredBy, policyOf, timeOf } from "@countersign/engine/policy.ts";
import { readPolicyFactsOfRuns } from "@countersign/engine/read-policy-facts.ts";
import type { Tools } from "@countersign/engine/tools.ts";
import type { LayerPolicy } from "@countersign/gate/rule.ts";
import type { RecordedVerdict } from "@countersign/gate/simulate.ts";
import type { Policy } from "@countersign/gate/types.ts";
import type { PolicyScope } from "./policy-scope.ts";

const mostCalls = 5_000;

/** A call of the last days, with the policy that a call like it is judged under now. */
export interface RecordedCall extends RecordedVerdict {
  readonly runId: string;
  /** What its definition says of its own layer, which no document takes away. */
  readonly declared: LayerPolicy;
  /** What a person said of it, where one was asked; changing its arguments is no approval of what it asked for. */
  readonly decision: "approve" | "deny" | undefined;
}

interface CallRow {
  readonly id: string;
  readonly runId: string;
  readonly definitionId: string;
  readonly version: number;
  readonly tool: string;
  readonly args: string;
  readonly decision: "approve" | "deny" | null;
  /** It is of a run that the reader may not read. */
  readonly isClosed: boolean;
}

/** Calls by their ids, which begin with the time they were made at. */
const newest = `
  with newest as materialized (
    select c.id, c.run_id as "runId", r.definition_id as "definitionId", r.definition_version as version, c.tool, c.args,
           (select case when a.edited_args is null then a.answer else 'deny' end
              from approvals a
             where a.call_id = c.id and a.kind = 'approval' and a.status in ('approved', 'denied')
             order by a.id desc
             limit 1) as decision
      from tool_calls c
      join runs r on r.id = c.run_id
     where r.workspace_id = $1::uuid and c.id >= $2::uuid
       and ($3::uuid is null or r.definition_id = $3) and ($4::uuid is null or r.id = $4)
     order by c.id desc
     limit $5::int + 1)
  select *, "runId" in (select closed_runs($1::uuid, $6::uuid, array(select distinct "runId" from newest))) as "isClosed"
    from newest
   order by id desc`;

/**
 * The calls of a workspace, a definition or a run of the last days, newest first and at most 5,000, with the tools and the
 * policy as they are now. What people denied, and kill switches, are left out of the policy. A run whose definition cannot be
 * read is left out, as is one that is closed to the reader.
 */
export async function readRecordedCalls(
  sql: Queryable,
  { scope, scopeId }: PolicyScope,
  { workspaceId, userId, days }: { readonly workspaceId: string; readonly userId: string; readonly days: number },
  tools: Tools,
): Promise<{ readonly calls: readonly RecordedCall[]; readonly isTruncated: boolean; readonly since: Date }> {
  const since = new Date(Date.now() - days * 86_400_000);
  const ofDefinition = scope === "definition" ? scopeId : null;
  const rows = await sql.unsafe<CallRow[]>(
    newest,
    [workspaceId, idAt(since), ofDefinition, scope === "run" ? scopeId : null, mostCalls, userId],
    { prepare: true },
  );
  const some = rows.slice(0, mostCalls).filter(({ isClosed }) => !isClosed);
  const policies = await readPolicies(sql, workspaceId, some);
  const calls = some.flatMap(({ id, runId, tool, args, decision }): RecordedCall[] => {
    const of = policies.get(runId);
    const registered = tools.get(tool);
    if (of === undefined) return [];
    const call = {
      tool: registered?.tool,
      name: tool,
      argsText: args,
      ...(registered === undefined ? {} : { definitionHash: registered.definitionHash }),
    };
    return [{ id, runId, call, decision: decision ?? undefined, ...of }];
  });
  return { calls, isTruncated: rows.length > mostCalls, since };
}

/** The policy that each run's calls are judged under, and what its definition says of its own layer. */
async function readPolicies(
  sql: Queryable,
  workspaceId: string,
  calls: readonly CallRow[],
): Promise<ReadonlyMap<string, { readonly policy: Policy; readonly declared: LayerPolicy; readonly judgedAt: Date }>> {
  const runs = new Map(calls.map((call) => [call.runId, call]));
  const facts = await readPolicyFactsOfRuns(sql, workspaceId, [...runs.keys()]);
  const versions = await sql.unsafe<{ definitionId: string; version: number; spec: unknown }[]>(
    `select v.definition_id as "definitionId", v.version, v.spec
       from unnest($1::uuid[], $2::int[]) n (definition_id, version)
       join definition_versions v on v.definition_id = n.definition_id and v.version = n.version
      group by v.definition_id, v.version`,
    [[...runs.values()].map(({ definitionId }) => definitionId), [...runs.values()].map(({ version }) => version)],
    { prepare: true },
  );
  const specs = new Map(
    versions.map(({ definitionId, version, spec }) => [`${definitionId}@${version}`, definitionSpec.safeParse(spec)]),
  );
  const policies = new Map<string, { policy: Policy; declared: LayerPolicy; judgedAt: Date }>();
  for (const [runId, { definitionId, version }] of runs) {
    const of = facts.get(runId);
    const spec = specs.get(`${definitionId}@${version}`);
    if (of === undefined || spec?.success !== true) continue;
    const policy = policyOf({ ...of, killed: null, denials: [] }, spec.data);
    policies.set(runId, { policy, declared: declaredBy(spec.data), judgedAt: timeOf(of) });
  }
  return policies;
}

/** The least id that was made at this time or later. */
function idAt(time: Date): string {
  const hex = time.getTime().toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
