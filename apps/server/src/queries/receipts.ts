import { createHash } from "node:crypto";
import type { Queryable } from "@countersign/db/connect.ts";
import { isGuarded } from "@countersign/ops/visible.ts";
import type { Actor } from "../auth.ts";
import { mayReadApproval } from "../closed-runs.ts";
import type { Receipt } from "../shapes/receipts.ts";
import { auditedUser } from "./actors.ts";

const approval = `
  select a.id as "approvalId", a.task_id as "taskId", a.run_id as "runId", a.call_id as "callId", c.tool, a.kind, a.status,
         a.answer, a.card, a.args_hash as "argsHash", a.edited_args_hash as "editedArgsHash", a.selected_option as "selectedOption",
         a.scope, a.definition_hash as "definitionHash", a.policy_versions as "policyVersions", a.gate_row as "gateRow",
         a.gate_reason as "gateReason", a.approver_rule as "approverRule", a.requested_at as "requestedAt",
         a.decided_at as "decidedAt", ${isGuarded} as "isGuarded"
    from approvals a
    join tool_calls c on c.id = a.call_id
    join runs r       on r.id = a.run_id
   where a.workspace_id = $1::uuid and a.id = $2::uuid`;

const entries = `
  select a.id::text as "auditId", a.at, a.actor, u.name as "actorName", a.action, a.details::text as details,
         case when k.seq is not null then json_build_object('seq', k.seq, 'hash', encode(k.hash, 'hex'), 'keyId', k.key_id) end as seal
    from audit a
    left join audit_chain k on k.audit_id = a.id
    left join users u       on u.id = ${auditedUser("a.actor")}
   where a.subject = $2 and a.action like 'approval.%' and a.workspace_id = $1::uuid
   order by a.id`;

/**
 * What the audit holds of an approval, beside the card as it was shown; undefined where the workspace has none of this id,
 * `closed` where its run is closed to the reader, who may not decide it either.
 * Whoever has it can hash the card again and find that hash in each entry, and each entry in the chain.
 */
export async function readReceipt(sql: Queryable, actor: Actor, id: string): Promise<Receipt | "closed" | undefined> {
  const { workspaceId } = actor;
  const [found] = await sql.unsafe<(Omit<Receipt, "cardHash" | "entries" | "isSealed"> & { isGuarded: boolean })[]>(
    approval,
    [workspaceId, id],
    { prepare: true },
  );
  if (found === undefined) return undefined;
  const { isGuarded: isRunGuarded, ...row } = found;
  const of = { id: row.approvalId, run: { id: row.runId }, isGuarded: isRunGuarded };
  if (!(await mayReadApproval(sql, actor, of))) return "closed";
  const said = await sql.unsafe<Receipt["entries"]>(entries, [workspaceId, id], { prepare: true });
  return {
    ...row,
    cardHash: createHash("sha256").update(row.card).digest("hex"),
    entries: said,
    isSealed: said.length > 0 && said.every(({ seal }) => seal !== null),
  };
}
