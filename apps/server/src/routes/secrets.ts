import { BrokerError } from "@countersign/broker/broker-error.ts";
import { recognised } from "@countersign/broker/environment.ts";
import { deleteSecret, putSecret } from "@countersign/broker/secrets.ts";
import { findSecretFaults } from "@countersign/tools/secret-faults.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { invalidField, Problem } from "../problem.ts";
import { isCapabilityNamed, listSecrets, readSecret } from "../queries/secrets.ts";
import { answers, jsonBody, pageQuery } from "../shapes/common.ts";
import { secretBody, secretListSchema, secretName, secretSchema } from "../shapes/secrets.ts";

const list = createRoute({
  method: "get",
  path: "/secrets",
  summary: "The secrets of the workspace by name, never their values",
  request: { query: z.object(pageQuery) },
  responses: answers("A page of secrets", secretListSchema),
});

const put = createRoute({
  method: "put",
  path: "/secrets/{name}",
  summary: "Set a secret, or its next version, which the next use takes",
  request: { params: secretName, body: jsonBody(secretBody) },
  responses: answers("The secret is stored, sealed", secretSchema),
});

const remove = createRoute({
  method: "delete",
  path: "/secrets/{name}",
  summary: "Delete a secret: what uses it fails at its next use, and only a person brings it back",
  request: { params: secretName },
  responses: answers("The secret is deleted", z.object({ name: z.string(), outcome: z.literal("deleted") })),
});

/** Secrets: written and never read. The server seals a value with a key that opens nothing. */
export function createSecretRoutes(deps: ServerDependencies) {
  const { sql, sealingKey, log } = deps;
  return new OpenAPIHono<AppEnv>()
    .openapi(list, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", "Listing secrets");
      const { cursor, limit } = c.req.valid("query");
      const cursorId = decodeCursor("secrets", cursor);
      const read = await listSecrets(sql, { workspaceId: actor.workspaceId, cursorId, limit });
      const { rows, nextCursor } = pageOf(c, "secrets", read, limit);
      return c.json({ secrets: rows, nextCursor }, 200);
    })
    .openapi(put, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", "Setting a secret");
      const { name } = c.req.valid("param");
      const { capability, value } = c.req.valid("json");
      const { workspaceId, userId } = actor;
      await requireKnown(deps, workspaceId, capability);
      requireFit(capability, value);
      try {
        const secret = { workspaceId, name, capability, value, createdBy: userId };
        const stored = await putSecret(sql, await sealingKey(), secret);
        if (stored.kind === "capability_taken") {
          throw new Problem(
            "capability_taken",
            `The secret ${stored.name} serves ${capability} already. Set that one, or delete it first.`,
          );
        }
      } catch (error) {
        if (error instanceof BrokerError) {
          const problem = problemOf(error);
          if (problem.code === "cannot_seal")
            log.error({ requestId: c.get("requestId"), code: error.code }, error.message);
          throw problem;
        }
        throw error;
      }
      const secret = await readSecret(sql, workspaceId, name);
      if (secret === undefined) throw noSecret(name);
      return c.json(secret, 200);
    })
    .openapi(remove, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", "Deleting a secret");
      const { name } = c.req.valid("param");
      const { kind } = await deleteSecret(sql, { workspaceId: actor.workspaceId, name, deletedBy: actor.userId });
      if (kind === "not_found") throw noSecret(name);
      return c.json({ name, outcome: "deleted" as const }, 200);
    });
}

/** A secret that nothing can ever use is mostly a slip of the keyboard: it would be missed only after a person approved. */
async function requireKnown(
  { sql, tools }: ServerDependencies,
  workspaceId: string,
  capability: string,
): Promise<void> {
  const known = new Set([
    ...recognised.map((one) => one.capability),
    ...[...tools.values()].flatMap(({ tool }) => tool.requires ?? []),
  ]);
  if (known.has(capability) || (await isCapabilityNamed(sql, workspaceId, capability))) return;
  throw invalidField(
    "json.capability",
    `no tool of this server requires ${JSON.stringify(capability)} and no definition names it, so nothing was stored. Known: ${[...known].toSorted().join(", ")}. For a tool of your own give this server the COUNTERSIGN_TOOLS that the worker has.`,
  );
}

function requireFit(capability: string, value: string): void {
  const faults = findSecretFaults(capability, value);
  if (faults.length === 0) return;
  const told = faults.map(({ field, message }) => (field === undefined ? message : `${field}: ${message}`));
  throw new Problem(
    "unfit_secret",
    `The value cannot be used for ${capability}, so nothing was stored. ${told.join("; ")}.`,
    {
      errors: faults.map(({ field, message }) => ({
        path: field === undefined ? "json.value" : `json.value.${field}`,
        message,
      })),
    },
  );
}

/** The broker's messages name the secret and never its value; where a key is, is for the log alone. */
function problemOf({ code, message }: BrokerError): Problem {
  if (code === "secret_too_short" || code === "secret_not_text") return new Problem("unfit_secret", message);
  return new Problem(
    "cannot_seal",
    "The server has no usable public key to seal with, so nothing was stored. The worker makes the key when it starts; the server's log says what it found.",
  );
}

function noSecret(name: string): Problem {
  return new Problem("not_found", `There is no secret ${name} in this workspace. GET /v1/secrets lists them.`);
}
