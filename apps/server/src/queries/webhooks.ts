import type { Queryable } from "@countersign/db/connect.ts";
import type { Delivery, Webhook } from "../shapes/webhooks.ts";
import { lastId } from "./ids.ts";

const columns = `id, url, events, created_at as "createdAt", disabled_at as "disabledAt", disabled_reason as "disabledReason"`;

const page = `
  select ${columns} from webhook_endpoints
   where workspace_id = $1::uuid and id < $2::uuid order by id desc limit $3::int + 1`;

const one = `select ${columns} from webhook_endpoints where workspace_id = $1::uuid and id = $2::uuid`;

const deliveries = `
  select d.id, d.event, d.subject, d.payload, d.redelivers, d.status, d.created_at as "createdAt", d.settled_at as "settledAt",
         coalesce((select json_agg(json_build_object('n', a.n, 'at', a.at, 'tookMs', a.took_ms, 'statusCode', a.status_code,
                                                     'failure', a.failure) order by a.n)
                     from webhook_attempts a where a.delivery_id = d.id), '[]') as attempts
    from webhook_deliveries d
   where d.workspace_id = $1::uuid and d.endpoint_id = $2::uuid and d.id < $3::uuid
   order by d.id desc limit $4::int + 1`;

interface Page {
  readonly workspaceId: string;
  readonly cursorId: string | undefined;
  readonly limit: number;
}

/** A page of the workspace's endpoints, newest first; one more than `limit` where the list goes on. */
export async function readWebhooks(
  sql: Queryable,
  { workspaceId, cursorId = lastId, limit }: Page,
): Promise<Webhook[]> {
  return await sql.unsafe<Webhook[]>(page, [workspaceId, cursorId, limit], { prepare: true });
}

/** One endpoint; undefined where the workspace has none of this id. */
export async function readWebhook(sql: Queryable, workspaceId: string, id: string): Promise<Webhook | undefined> {
  const [row] = await sql.unsafe<Webhook[]>(one, [workspaceId, id], { prepare: true });
  return row;
}

/** A page of what an endpoint was told, newest first, each with every attempt. */
export async function readDeliveries(
  sql: Queryable,
  { workspaceId, webhookId, cursorId = lastId, limit }: Page & { readonly webhookId: string },
): Promise<Delivery[]> {
  const rows = await sql.unsafe<Delivery[]>(deliveries, [workspaceId, webhookId, cursorId, limit], { prepare: true });
  return rows.map((row) => ({
    ...row,
    attempts: row.attempts.map((attempt) => ({ ...attempt, at: new Date(attempt.at) })),
  }));
}
