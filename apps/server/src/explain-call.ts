import type { Queryable } from "@countersign/db/connect.ts";
import { proposedCall } from "@countersign/engine/judge-call.ts";
import { policyOf, timeOf } from "@countersign/engine/policy.ts";
import { type RecordedCall, readSnapshot } from "@countersign/engine/run-snapshot.ts";
import type { Tools } from "@countersign/engine/tools.ts";
import { explain } from "@countersign/gate/explain.ts";
import type { Policy, ProposedCall } from "@countersign/gate/types.ts";
import { isGuarded } from "@countersign/ops/visible.ts";
import type { z } from "@hono/zod-openapi";
import type { Actor } from "./auth.ts";
import { requireOpenRun } from "./closed-runs.ts";
import { readEffectivePolicy } from "./effective-policy.ts";
import { findPolicyScope } from "./policy-scope.ts";
import { Problem } from "./problem.ts";
import type { explainBody, explanationSchema } from "./shapes/explain.ts";

type Explained = z.infer<typeof explanationSchema>;

/** Why the gate decides as it does on a call, recorded or made up: every row of the table, under policy as it stands now. */
export async function explainCall(
  sql: Queryable,
  actor: Actor,
  asked: z.infer<typeof explainBody>,
  tools: Tools,
): Promise<Explained> {
  if (asked.call !== undefined) return await explainRecorded(sql, actor, asked.call, tools);
  const { tool: name, args } = asked;
  if (name === undefined) {
    throw new Problem("invalid_request", "Which call? Send `call`, or `tool` with `args`.", {
      errors: [{ path: "json.tool", message: "is missing" }],
    });
  }
  const scope = await findPolicyScope(sql, actor, asked);
  const registered = tools.get(name);
  const call: ProposedCall = {
    tool: registered?.tool,
    name,
    argsText: args,
    ...(registered === undefined ? {} : { definitionHash: registered.definitionHash }),
  };
  const { policy, now } = await readEffectivePolicy(sql, scope, tools);
  return { ...shown(call, policy, now), callId: null, recorded: null };
}

interface ExplainedRow {
  readonly runId: string;
  readonly verdict: string;
  readonly row: string;
  readonly reason: string;
  readonly versions: string;
  readonly isGuarded: boolean;
}

async function explainRecorded(sql: Queryable, actor: Actor, callId: string, tools: Tools): Promise<Explained> {
  const [row] = await sql.unsafe<ExplainedRow[]>(
    `select c.run_id as "runId", c.verdict, c.gate_row as row, c.gate_reason as reason, c.policy_versions as versions,
            ${isGuarded} as "isGuarded"
       from tool_calls c join runs r on r.id = c.run_id
      where r.workspace_id = $1::uuid and c.id = $2::uuid`,
    [actor.workspaceId, callId],
    { prepare: true },
  );
  if (row === undefined) throw new Problem("not_found", `There is no tool call ${callId} in this workspace.`);
  await requireOpenRun(sql, actor, { id: row.runId, isGuarded: row.isGuarded });
  const snapshot = await readSnapshot(sql, row.runId);
  const call = snapshot.calls.find(({ id }) => id === callId);
  const { definition } = await findPolicyScope(sql, actor, { scope: "run", id: row.runId });
  if (call === undefined || definition === undefined) {
    throw new Problem(
      "wrong_kind",
      `The definition of the run ${row.runId} cannot be read as it is stored. Apply it anew.`,
    );
  }
  return {
    ...shown(
      proposedCall(call, tools.get(call.tool)),
      asBefore(call, policyOf(snapshot, definition)),
      timeOf(snapshot),
    ),
    callId,
    recorded: {
      verdict: row.verdict as Explained["now"]["verdict"],
      row: row.row,
      reason: row.reason,
      policyVersions: row.versions,
    },
  };
}

/** A person's denial of this very call is what came of it, not what it was judged by. */
function asBefore(call: RecordedCall, policy: Policy): Policy {
  return { ...policy, denials: policy.denials.filter(({ approvalId }) => approvalId !== call.approval?.id) };
}

function shown(call: ProposedCall, policy: Policy, now: Date): Omit<Explained, "callId" | "recorded"> {
  const { verdict, rows } = explain(call, policy, now);
  return {
    tool: call.name,
    now: {
      verdict: verdict.verdict,
      row: verdict.row,
      reason: verdict.reason,
      detail: verdict.detail,
      policyVersions: policy.versions,
    },
    rows: rows.map(({ row, said, isFirst }) => ({ row, said: said ?? null, isFirst })),
  };
}
