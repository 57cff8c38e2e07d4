import { generateKeyPairSync, randomUUID } from "node:crypto";
import type { Queryable, Sql } from "@countersign/db/connect.ts";
import { makeKeyring, parsePrivateKey, type BrokerPrivateKey } from "../keyring.ts";
import type { LeaseKey } from "../lease.ts";
import { putSecret } from "../secrets.ts";

/** A key that is in no folder. */
export function makeKey(): BrokerPrivateKey {
  const jwk = generateKeyPairSync("x25519").privateKey.export({ format: "jwk" });
  return parsePrivateKey(JSON.stringify(jwk), "a test key");
}

export function ringOf(...keys: BrokerPrivateKey[]): ReturnType<typeof makeKeyring> {
  return makeKeyring(keys);
}

export async function makeWorkspace(sql: Queryable): Promise<string> {
  const id = randomUUID();
  await sql`insert into workspaces (id, name) values (${id}, ${"test"})`;
  return id;
}

/** Sets the secret of a capability, under the capability's own name. */
export async function setSecret(
  sql: Sql,
  key: BrokerPrivateKey,
  workspaceId: string,
  capability: string,
  value: string,
): Promise<void> {
  const outcome = await putSecret(sql, key.publicKey, { workspaceId, name: capability, capability, value });
  if (outcome.kind !== "stored") throw new Error(`The secret was not stored: ${outcome.kind}`);
}

/** A call that executes under a live lease, as the commit that began it left it. */
export async function givenLease(
  sql: Queryable,
  workspaceId: string,
  capability: string,
  over: { readonly runId?: string } = {},
): Promise<LeaseKey> {
  const callId = randomUUID();
  const runId = over.runId ?? (await givenRun(sql, workspaceId, capability));
  await sql`
    insert into tool_calls (id, run_id, turn_seq, position, provider_id, tool, args, args_hash, definition_hash, effect, requires,
                            verdict, gate_row, gate_reason, policy_versions, status, attempt, epoch)
    values (${callId}, ${runId}, 1, (select count(*)::int from tool_calls where run_id = ${runId}), 'p', 't', '{}', 'h', 'd', 'once',
            ${[capability]}::text[], 'allow', '20', 'r', '1.1.1.0', 'executing', 1, 1)`;
  await giveLease(sql, { runId, callId, capability });
  return { workspaceId, runId, callId, capability };
}

async function givenRun(sql: Queryable, workspaceId: string, capability: string): Promise<string> {
  const runId = randomUUID();
  await sql`
    insert into runs (id, workspace_id, definition_id, definition_version, root_id, depth, started_by, title, grants, status, epoch)
    values (${runId}, ${workspaceId}, ${randomUUID()}, 1, ${runId}, 0, ${randomUUID()}, 'a run', ${[capability]}::text[], 'running', 1)`;
  return runId;
}

/** The lease that begins or goes on for five minutes. */
export async function giveLease(sql: Queryable, lease: Omit<LeaseKey, "workspaceId">): Promise<void> {
  const { runId, callId, capability } = lease;
  await sql`
    insert into capability_leases (call_id, capability, run_id, acquired_at, expires_at)
    values (${callId}, ${capability}, ${runId}, clock_timestamp(), clock_timestamp() + interval '5 minutes')
    on conflict (call_id, capability) do update set expires_at = excluded.expires_at`;
}

export async function expireLease(sql: Queryable, { callId }: { readonly callId: string }): Promise<void> {
  await sql`update capability_leases set expires_at = clock_timestamp() - interval '1 second' where call_id = ${callId}`;
}

/** The audit of a workspace, a line each, in the order it was written. */
export async function auditOf(sql: Queryable, workspaceId: string): Promise<string[]> {
  const rows = await sql<{ actor: string; action: string; subject: string | null; details: object | null }[]>`
    select actor, action, subject, details from audit where workspace_id = ${workspaceId} order by id`;
  return rows.map(({ actor, action, subject, details }) =>
    [actor.replace(/:.*/, ""), action, subject, details === null ? null : JSON.stringify(details)]
      .filter((part) => part !== null)
      .join(" "),
  );
}
