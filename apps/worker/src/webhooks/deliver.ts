import { BrokerError } from "@countersign/broker/broker-error.ts";
import { type ProcessSecrets, SecretMissing } from "@countersign/broker/process-secrets.ts";
import type { Sql } from "@countersign/db/connect.ts";
import { post, type PostOptions } from "./post.ts";
import { signMessage } from "./sign.ts";

export interface DeliverOptions extends PostOptions {
  readonly sql: Sql;
  /** Lends the endpoints' signing secrets. */
  readonly secrets: Pick<ProcessSecrets, "use">;
  /** The last attempt is the one of this number. */
  readonly mostAttempts: number;
}

/** `again`: the attempt failed and there should be another. */
export type DeliveryOutcome = "delivered" | "again" | "given_up" | "nothing_to_do";

interface Row {
  readonly workspaceId: string;
  readonly endpointId: string;
  readonly messageId: string;
  readonly payload: string;
  readonly url: string;
  readonly secretName: string;
  readonly isEnabled: boolean;
  readonly attempts: number;
}

const read = `
  select d.workspace_id as "workspaceId", d.endpoint_id as "endpointId", coalesce(d.redelivers, d.id) as "messageId", d.payload,
         e.url, e.secret_name as "secretName", e.disabled_at is null as "isEnabled", d.attempts
    from webhook_deliveries d
    join webhook_endpoints e on e.id = d.endpoint_id
   where d.id = $1::uuid and d.status = 'pending'`;

const record = `
  with attempt as (
    update webhook_deliveries
       set attempts   = attempts + 1,
           status     = $2,
           settled_at = case when $2 <> 'pending' then clock_timestamp() end
     where id = $1::uuid
    returning id, attempts)
  insert into webhook_attempts (delivery_id, n, took_ms, status_code, failure)
  select id, attempts, $3::int, $4::int, $5 from attempt`;

const disable = `
  update webhook_endpoints set disabled_at = clock_timestamp(), disabled_reason = 'it answered 410 Gone'
   where id = $1::uuid and disabled_at is null`;

/**
 * One attempt to deliver a message: signed anew, sent, and recorded with what came of it. Any 2xx counts as received, 410
 * turns the endpoint off, and anything else is tried again unless this was the last attempt.
 */
export async function deliver(
  { sql, secrets, mostAttempts, ...options }: DeliverOptions,
  deliveryId: string,
): Promise<DeliveryOutcome> {
  const [row] = await sql.unsafe<Row[]>(read, [deliveryId], { prepare: true });
  if (row === undefined) return "nothing_to_do";
  const isLast = row.attempts + 1 >= mostAttempts;

  const settle = async (status: string, tookMs: number, code: number | null, failure: string | null): Promise<void> => {
    await sql.unsafe(record, [deliveryId, status, Math.round(tookMs), code, failure], { prepare: true });
  };
  const fail = async (tookMs: number, code: number | null, failure: string): Promise<DeliveryOutcome> => {
    await settle(isLast ? "failed" : "pending", tookMs, code, failure);
    return isLast ? "given_up" : "again";
  };

  if (!row.isEnabled) {
    await settle("failed", 0, null, "not sent: the endpoint is turned off");
    return "given_up";
  }
  const beganAt = performance.now();
  const headers = await sign(secrets, row);
  if (headers === undefined) return await fail(0, null, "not sent: its signing secret does not open");
  const outcome = await post(row.url, headers, row.payload, options);
  const tookMs = performance.now() - beganAt;
  if (outcome.kind === "failed") return await fail(tookMs, null, outcome.failure);
  const { status } = outcome;
  if (status >= 200 && status < 300) {
    await settle("delivered", tookMs, status, null);
    return "delivered";
  }
  if (status === 410) {
    await sql.unsafe(disable, [row.endpointId], { prepare: true });
    await settle("failed", tookMs, status, "it wants no more");
    return "given_up";
  }
  const isRedirect = status >= 300 && status < 400;
  return await fail(tookMs, status, isRedirect ? "it redirects, which is not followed" : "it did not accept it");
}

async function sign(
  secrets: Pick<ProcessSecrets, "use">,
  { workspaceId, secretName: capability, messageId, payload }: Row,
): Promise<ReturnType<typeof signMessage> | undefined> {
  const message = { id: messageId, timestamp: Math.floor(Date.now() / 1_000), body: payload };
  try {
    return await secrets.use({ workspaceId, capability }, async (secret) => signMessage(secret, message));
  } catch (error) {
    if (error instanceof BrokerError || error instanceof SecretMissing) return undefined;
    throw error;
  }
}
