import type { Queryable } from "@countersign/db/connect.ts";
import { appendAudit } from "./append-audit.ts";

/** Which credential, for which call of which run. */
export interface LeaseKey {
  readonly workspaceId: string;
  readonly runId: string;
  readonly callId: string;
  readonly capability: string;
}

/** Why a credential is not to be had. Closed. */
export type RefusalCode =
  /** The call has ended, was taken over by another attempt, or is not of this run. */
  | "call_ended"
  | "lease_missing"
  | "lease_expired"
  | "grant_revoked"
  | "secret_missing"
  | "secret_unreadable"
  | "key_unknown"
  | "audit_unavailable";

export interface Refusal {
  readonly kind: "refused";
  readonly code: RefusalCode;
  /** For the model and the person who sets secrets; holds none. */
  readonly message: string;
}

/** Thrown by a handle's use: the credential was good when it was opened and is no longer to be had. */
export class HandleRefused extends Error {
  override readonly name = "HandleRefused";
  readonly code: RefusalCode;

  constructor({ code, message }: Refusal) {
    super(message);
    this.code = code;
  }
}

/** A lease as it stands. `attempt` and `secretId` are those of the call and the secret now. */
export type Standing =
  | { readonly kind: "live"; readonly attempt: number; readonly secretId: string }
  | { readonly kind: "not_live"; readonly code: RefusalCode };

/** Whether the lease is good at this moment: granted, not revoked, not over, its call executing, its secret not deleted. */
export async function readStanding(sql: Queryable, key: LeaseKey): Promise<Standing> {
  const { workspaceId, runId, callId, capability } = key;
  const [row] = await sql.unsafe<StandingRow[]>(
    `select c.status = 'executing' and c.epoch = r.epoch as is_executing, c.attempt,
            $4 = any (r.grants) as is_granted, l.call_id is not null as is_leased,
            l.revoked_at is not null as is_revoked, l.expires_at <= clock_timestamp() as is_over, s.id as secret_id
       from tool_calls c
       join runs r on r.id = c.run_id
       left join capability_leases l on l.call_id = c.id and l.capability = $4
       left join secrets s on s.workspace_id = r.workspace_id and s.capability = $4 and s.deleted_at is null
      where r.workspace_id = $1::uuid and r.id = $2::uuid and c.id = $3::uuid`,
    [workspaceId, runId, callId, capability],
    { prepare: true },
  );
  if (row === undefined || !row.is_executing) return notLive("call_ended");
  if (!row.is_granted || row.is_revoked) return notLive("grant_revoked");
  if (row.secret_id === null) return notLive("secret_missing");
  if (!row.is_leased) return notLive("lease_missing");
  if (row.is_over === true) return notLive("lease_expired");
  return { kind: "live", attempt: row.attempt, secretId: row.secret_id };
}

interface StandingRow {
  is_executing: boolean;
  attempt: number;
  is_granted: boolean;
  is_leased: boolean;
  is_revoked: boolean;
  is_over: boolean | null;
  secret_id: string | null;
}

/** Afterwards the refusal is in the audit; where that cannot be written the refusal says that instead. */
export async function refuse(
  sql: Queryable,
  key: LeaseKey,
  code: RefusalCode,
  message = refusalText(code, key.capability),
): Promise<Refusal> {
  const { workspaceId, runId, callId, capability } = key;
  const entry = { workspaceId, actor: `run:${runId}`, action: "capability.refused", runId, callId };
  try {
    await appendAudit(sql, { ...entry, subject: capability, details: { code } });
  } catch {
    // Nothing is given out either way; what cannot be recorded is told by its own code.
    return { kind: "refused", code: "audit_unavailable", message: refusalText("audit_unavailable", capability) };
  }
  return { kind: "refused", code, message };
}

/** What may be told of a refusal. */
export function refusalText(code: RefusalCode, capability: string): string {
  switch (code) {
    case "call_ended":
      return `The credential of ${capability} was lent to a call that has ended.`;
    case "lease_missing":
      return `This call has not acquired ${capability}.`;
    case "lease_expired":
      return `The hold of this call on ${capability} ran out and was not renewed.`;
    case "grant_revoked":
      return `This run does not hold the grant of ${capability}, or it was taken back.`;
    case "secret_missing":
      return `No secret is set for ${capability} in this workspace. An administrator can set one under Secrets, or with: ./countersign secrets set ${capability}`;
    case "secret_unreadable":
    case "key_unknown":
      return `The secret of ${capability} cannot be opened. An administrator has to set it again.`;
    case "audit_unavailable":
      return `The audit of ${capability} cannot be written at the moment, so its credential is not given out. Reading goes on; try again later.`;
  }
}

function notLive(code: RefusalCode): Standing {
  return { kind: "not_live", code };
}
