import { BrokerError } from "@countersign/broker/broker-error.ts";
import { checkTarget } from "@countersign/broker/public-address.ts";
import type { BrokerPublicKey } from "@countersign/broker/public-key.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { findReplay, transactOnce } from "../idempotency.ts";
import { createWebhook, redeliver, removeWebhook } from "../manage-webhooks.ts";
import { invalidField, Problem } from "../problem.ts";
import { readDeliveries, readWebhook, readWebhooks } from "../queries/webhooks.ts";
import { answers, idempotencyHeaders, idParam, jsonBody, pageQuery } from "../shapes/common.ts";
import {
  type CreatedWebhook,
  createdWebhookSchema,
  deliveryListSchema,
  newWebhookSchema,
  webhookEvents,
  webhookListSchema,
} from "../shapes/webhooks.ts";

const list = createRoute({
  method: "get",
  path: "/webhooks",
  summary: "The endpoints that are told of what happens, newest first",
  request: { query: z.object(pageQuery) },
  responses: answers("A page of endpoints", webhookListSchema),
});

const create = createRoute({
  method: "post",
  path: "/webhooks",
  summary: "Tell an endpoint of what happens from now on",
  request: { headers: idempotencyHeaders, body: jsonBody(newWebhookSchema) },
  responses: answers("The endpoint, with the secret that deliveries are signed with", createdWebhookSchema),
});

const remove = createRoute({
  method: "delete",
  path: "/webhooks/{id}",
  summary: "Tell an endpoint nothing more",
  request: { params: idParam },
  responses: answers("It is told nothing more", z.object({ id: z.string(), outcome: z.literal("removed") })),
});

const deliveries = createRoute({
  method: "get",
  path: "/webhooks/{id}/deliveries",
  summary: "What an endpoint was told, newest first, and what became of each attempt",
  request: { params: idParam, query: z.object(pageQuery) },
  responses: answers("A page of deliveries", deliveryListSchema),
});

const again = createRoute({
  method: "post",
  path: "/webhooks/deliveries/{id}/redeliver",
  summary: "Send a message once more, under the id it had",
  request: { params: idParam, headers: idempotencyHeaders },
  responses: answers("A further delivery of the same message", z.object({ id: z.string() })),
});

const act = "Administering webhooks";

/** Endpoints outside that are told of what happens; a worker sends the messages. */
export function createWebhookRoutes(deps: ServerDependencies) {
  const { sql, sealingKey, log, mayWebhooksBePrivate = false } = deps;

  async function checkUrl(url: string): Promise<void> {
    const target = await checkTarget(url, { mayBePrivate: mayWebhooksBePrivate });
    if (target.kind === "allowed") return;
    throw invalidField("json.url", `webhooks are not sent there: ${target.message}. Give a public https address.`);
  }

  async function keyFor(requestId: string): Promise<BrokerPublicKey> {
    try {
      return await sealingKey();
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      log.error({ requestId, code: error.code }, error.message);
      throw new Problem(
        "cannot_seal",
        "The server has no usable public key to seal the signing secret with, so nothing was stored. The worker makes the key when it starts; the server's log says what it found.",
      );
    }
  }

  return new OpenAPIHono<AppEnv>()
    .openapi(list, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", act);
      const { cursor, limit } = c.req.valid("query");
      const cursorId = decodeCursor("webhooks", cursor);
      const read = await readWebhooks(sql, { workspaceId: actor.workspaceId, cursorId, limit });
      const { rows, nextCursor } = pageOf(c, "webhooks", read, limit);
      return c.json({ webhooks: rows, nextCursor }, 200);
    })
    .openapi(create, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", act);
      const { url, events = webhookEvents } = c.req.valid("json");
      const before = await findReplay<CreatedWebhook>(c, deps);
      if (before !== undefined) return c.json(before, 200);
      await checkUrl(url);
      const key = await keyFor(c.get("requestId"));
      const { workspaceId, userId: createdBy } = actor;
      const made = await transactOnce(
        c,
        deps,
        async (tx) => {
          const { id, secret } = await createWebhook(tx, key, {
            workspaceId,
            url,
            events: [...new Set(events)],
            createdBy,
          });
          const webhook = await readWebhook(tx, workspaceId, id);
          if (webhook === undefined) throw new Error(`The webhook ${id} is not there after it was made.`);
          return { ...webhook, secret };
        },
        // A replay tells that it was made, and not the secret.
        (answer) => ({ ...answer, secret: "" }),
      );
      return c.json(made, 200);
    })
    .openapi(remove, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", act);
      const { id } = c.req.valid("param");
      const { workspaceId, userId: removedBy } = actor;
      const wasThere = await transactOnce(c, deps, async (tx) => ({
        is: await removeWebhook(tx, { workspaceId, id, removedBy }),
      }));
      if (!wasThere.is) throw noWebhook(id);
      return c.json({ id, outcome: "removed" as const }, 200);
    })
    .openapi(deliveries, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", act);
      const { workspaceId } = actor;
      const { id: webhookId } = c.req.valid("param");
      const { cursor, limit } = c.req.valid("query");
      const name = `deliveries.${webhookId}`;
      const cursorId = decodeCursor(name, cursor);
      if ((await readWebhook(sql, workspaceId, webhookId)) === undefined) throw noWebhook(webhookId);
      const read = await readDeliveries(sql, { workspaceId, webhookId, cursorId, limit });
      const { rows, nextCursor } = pageOf(c, name, read, limit);
      return c.json({ deliveries: rows, nextCursor }, 200);
    })
    .openapi(again, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", act);
      const { id: deliveryId } = c.req.valid("param");
      const { workspaceId, userId: askedBy } = actor;
      const made = await transactOnce(c, deps, async (tx) => {
        const further = await redeliver(tx, { workspaceId, deliveryId, askedBy });
        if (further === undefined) {
          throw new Problem(
            "not_found",
            `There is no delivery ${deliveryId} in this workspace whose endpoint is still told anything.`,
          );
        }
        return further;
      });
      return c.json(made, 200);
    });
}

function noWebhook(id: string): Problem {
  return new Problem("not_found", `There is no webhook ${id} in this workspace. GET /v1/webhooks lists them.`);
}
