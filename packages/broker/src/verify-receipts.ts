import type { Queryable } from "@countersign/db/connect.ts";
import type { AuditBreak } from "./verify-audit.ts";

/**
 * What a decided approval says against what the audit has sealed of its decision: the card that was shown, the answer, who
 * gave it and on whose say, on which arguments, with which option and for how long. Each approval that says otherwise by
 * now is a break, as is one whose decision the audit does not hold at all. Up to the first 1000, of one workspace or of all.
 */
export async function verifyReceipts(tx: Queryable, workspaceId?: string): Promise<AuditBreak[]> {
  const rows = await tx<{ workspaceId: string; approvalId: string; auditId: string | null; seq: number | null }[]>`
    select p.workspace_id as "workspaceId", p.id as "approvalId", a.id::text as "auditId", c.seq
      from approvals p
      left join audit a       on a.subject = p.id::text and a.action like 'approval.%' and a.action = 'approval.decided'
      left join audit_chain c on c.audit_id = a.id
     where p.answer is not null
       and ${workspaceId === undefined ? tx`true` : tx`p.workspace_id = ${workspaceId}::uuid`}
       and (a.id is null
            or a.actor <> 'user:' || p.decided_by
            or a.details ->> 'answer' <> p.answer
            or a.details ->> 'argsHash' <> p.args_hash
            or a.details ->> 'editedArgsHash' is distinct from p.edited_args_hash
            or a.details ->> 'selectedOption' is distinct from p.selected_option
            or a.details ->> 'scope' is distinct from p.scope
            or a.details ->> 'sayOf' is distinct from p.decided_for::text
            or a.details ->> 'cardHash' <> encode(sha256(convert_to(p.card, 'UTF8')), 'hex'))
     order by p.id
     limit 1000`;
  return rows.map(({ workspaceId, approvalId, auditId, seq }) => ({
    workspaceId,
    what: "receipt",
    ...(seq === null ? {} : { seq }),
    ...(auditId === null ? {} : { auditId }),
    message:
      auditId === null
        ? `the approval ${approvalId} is decided, and the audit holds no decision of it`
        : `the approval ${approvalId} says something else than what was shown and decided when it was sealed`,
  }));
}
