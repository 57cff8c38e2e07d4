import { randomBytes } from "node:crypto";
import { actorOf, appendAudit } from "@countersign/broker/append-audit.ts";
import type { BrokerPublicKey } from "@countersign/broker/public-key.ts";
import { lockSecretsOf, storeVersion } from "@countersign/broker/secrets.ts";
import type { Tx } from "@countersign/db/connect.ts";
import { v7 as newId } from "uuid";

export interface NewWebhook {
  readonly workspaceId: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly createdBy: string;
}

/**
 * Afterwards the endpoint is told of what commits from now on. The secret that deliveries are signed with is in the answer
 * and nowhere else: it is stored sealed, as a secret of the workspace that only a worker opens.
 */
export async function createWebhook(
  tx: Tx,
  publicKey: BrokerPublicKey,
  { workspaceId, url, events, createdBy }: NewWebhook,
): Promise<{ readonly id: string; readonly secret: string }> {
  const id = newId();
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  const name = `webhook.${id}`;
  await lockSecretsOf(tx, workspaceId);
  await storeVersion(tx, publicKey, { workspaceId, name, capability: name, value: secret, createdBy });
  // Locked before the endpoint is there: a follower that finds no endpoints rests only under this lock.
  await tx.unsafe("select from webhook_follower for update");
  await tx.unsafe(
    `insert into webhook_endpoints (id, workspace_id, url, events, secret_name, created_by)
     values ($1, $2, $3, $4::text[], $5, $6)`,
    [id, workspaceId, url, [...events], name, createdBy],
  );
  await tx.unsafe("update webhook_follower set snapshot = pg_current_snapshot() where snapshot is null");
  await appendAudit(tx, {
    workspaceId,
    actor: actorOf(createdBy),
    action: "webhook.created",
    subject: id,
    details: { events },
  });
  return { id, secret };
}

/** Afterwards the endpoint is told nothing more, what is under way included. False where the workspace has none of this id. */
export async function removeWebhook(
  tx: Tx,
  { workspaceId, id, removedBy }: { readonly workspaceId: string; readonly id: string; readonly removedBy: string },
): Promise<boolean> {
  const [row] = await tx.unsafe<{ secretName: string; events: string[] }[]>(
    `update webhook_endpoints set disabled_at = coalesce(disabled_at, clock_timestamp()), disabled_reason = 'removed'
      where workspace_id = $1::uuid and id = $2::uuid and disabled_reason is distinct from 'removed'
     returning secret_name as "secretName", events`,
    [workspaceId, id],
  );
  if (row === undefined) return false;
  await tx.unsafe(
    `update secrets set deleted_at = clock_timestamp(), deleted_by = $3::uuid
      where workspace_id = $1::uuid and name = $2 and deleted_at is null`,
    [workspaceId, row.secretName, removedBy],
  );
  const details = { events: row.events };
  await appendAudit(tx, { workspaceId, actor: actorOf(removedBy), action: "webhook.removed", subject: id, details });
  return true;
}

/** Afterwards the endpoint will be sent the same message once more. Undefined where it has no such delivery, or takes none. */
export async function redeliver(
  tx: Tx,
  asked: { readonly workspaceId: string; readonly deliveryId: string; readonly askedBy: string },
): Promise<{ readonly id: string } | undefined> {
  const id = newId();
  const [row] = await tx.unsafe<{ webhook: string; event: string }[]>(
    `insert into webhook_deliveries (id, workspace_id, endpoint_id, event, subject, payload, redelivers)
     select $1::uuid, d.workspace_id, d.endpoint_id, d.event, d.subject, d.payload, coalesce(d.redelivers, d.id)
       from webhook_deliveries d
       join webhook_endpoints e on e.id = d.endpoint_id and e.disabled_at is null
      where d.workspace_id = $2::uuid and d.id = $3::uuid
     returning endpoint_id as webhook, event`,
    [id, asked.workspaceId, asked.deliveryId],
  );
  if (row === undefined) return undefined;
  const { workspaceId, askedBy, deliveryId: subject } = asked;
  const details = { webhook: row.webhook, event: row.event };
  await appendAudit(tx, { workspaceId, actor: actorOf(askedBy), action: "webhook.redelivered", subject, details });
  return { id };
}
