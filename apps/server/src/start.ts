import { startRun } from "@countersign/engine/commits/start-run.ts";
import { definitionSpec, grantsOf } from "@countersign/engine/definition.ts";
import { stringifyExact } from "@countersign/engine/exact-text.ts";
import { z } from "@hono/zod-openapi";
import { v7 as newId } from "uuid";
import { type Actor, requireRole } from "./auth.ts";
import type { ServerDependencies } from "./context.ts";
import { sha256, type Work } from "./idempotency.ts";
import { Problem } from "./problem.ts";
import { readDefinition } from "./queries/definitions.ts";
import { storableLine, titleFrom } from "./shapes/common.ts";

export const newRunSchema = z
  .strictObject({
    definition: storableLine(100).openapi({ description: "The name of the definition" }),
    input: z
      .string()
      .min(1)
      .max(200_000)
      .openapi({ description: "The first message, as plain text; nothing in it is more than that" }),
    title: storableLine(200).optional().openapi({ description: "Else the first line of `input`" }),
    key: z
      .string()
      .regex(/^[\x21-\x7e]{1,200}$/, "expected 1 to 200 visible ASCII characters")
      .optional()
      .openapi({ description: "The same as the header Idempotency-Key" }),
  })
  .openapi("NewRun");

/**
 * Starts a run for the actor, with the capabilities its definition may reach. When it returns the run is queued and
 * ready; `isRepeat` where the actor had started it with the same key before.
 */
export async function start(
  { sql, commit, tools }: Pick<Work, "sql" | "commit"> & Pick<ServerDependencies, "tools">,
  actor: Actor,
  asked: z.infer<typeof newRunSchema>,
  headerKey: string | undefined,
): Promise<{ readonly runId: string; readonly isRepeat: boolean }> {
  requireRole(actor, "operator", "Starting a run");
  const key = headerKey ?? asked.key;
  if (asked.key !== undefined && key !== asked.key) {
    throw new Problem("invalid_request", "The Idempotency-Key header and `key` of the body differ. Send one of them.", {
      errors: [{ path: "json.key", message: "differs from the Idempotency-Key header" }],
    });
  }
  const definition = await readDefinition(sql, actor.workspaceId, { name: asked.definition });
  if (definition === undefined) throw noDefinition(asked.definition);
  const spec = definitionSpec.safeParse(definition.spec);
  if (!spec.success) {
    throw new Problem(
      "wrong_kind",
      `The definition ${asked.definition} (version ${definition.version}) cannot be run as it is stored: ${z.prettifyError(spec.error)}. Apply it anew.`,
    );
  }

  const outcome = await commit(startRun, {
    runId: newId(),
    workspaceId: actor.workspaceId,
    definitionId: definition.id,
    definitionVersion: definition.version,
    startedBy: actor.userId,
    title: asked.title ?? titleFrom(asked.input),
    input: stringifyExact(asked.input),
    grants: grantsOf(spec.data, tools),
    ...(key === undefined
      ? {}
      : {
          key: {
            // A key is its sender's own: two people who both count from 1 do not meet.
            key: `${actor.userId}:${key}`,
            requestHash: sha256([asked.definition, asked.input, asked.title]),
          },
        }),
  });
  switch (outcome.kind) {
    case "started":
      return { runId: outcome.runId, isRepeat: false };
    case "existing":
      return { runId: outcome.runId, isRepeat: true };
    case "mismatch":
      throw new Problem(
        "key_reused",
        `The key ${key ?? ""} started the run ${outcome.runId} with another request. Send the same request again, or use a new key.`,
      );
    case "unknown_definition":
      throw noDefinition(asked.definition);
  }
}

function noDefinition(name: string): Problem {
  return new Problem(
    "not_found",
    `There is no definition ${JSON.stringify(name)} in this workspace. GET /v1/definitions lists them.`,
  );
}
