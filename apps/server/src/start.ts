import { type StartRun, startRun } from "@countersign/engine/commits/start-run.ts";
import { setRules } from "@countersign/engine/commits/set-rules.ts";
import { definitionSpec, grantsOf } from "@countersign/engine/definition.ts";
import { stringifyExact } from "@countersign/engine/exact-text.ts";
import { coversOf } from "@countersign/engine/rule-changes.ts";
import { presetOf } from "@countersign/gate/presets.ts";
import { instant } from "@countersign/gate/storable.ts";
import { z } from "@hono/zod-openapi";
import { v7 as newId } from "uuid";
import { type Actor, isThemselves, requireRole, wayOf } from "./auth.ts";
import type { ServerDependencies } from "./context.ts";
import { sha256, type Work } from "./idempotency.ts";
import { rulesOfPreset } from "./apply-policy.ts";
import { authorOf, requirePolicyRight } from "./policy-scope.ts";
import { noteAnchor, readAnchor } from "./run-anchor.ts";
import { invalidField, Problem } from "./problem.ts";
import { readDefinition } from "./queries/definitions.ts";
import { storableLine, titleFrom, uuid } from "./shapes/common.ts";
import { approvalPolicy, dialLevel, presetName } from "./shapes/rules.ts";

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
    dial: z
      .strictObject({ level: dialLevel, expiresAt: instant.optional() })
      .optional()
      .openapi({ description: "What runs unasked in this run; for whoever may approve its calls" }),
    page: uuid.optional().openapi({ description: "The page it is about: its cards and questions stand there" }),
    node: uuid.optional().openapi({ description: "The node of that page it is about" }),
    approvalPolicy: approvalPolicy.optional().openapi({
      description: "Which calls of this run ask; less than all is for whoever may approve them",
    }),
    preset: presetName.optional().openapi({
      description: "Sets both together, and the rules that go with them; for whoever may approve the run's calls",
    }),
  })
  .openapi("NewRun");

/**
 * Starts a run for the actor, with the capabilities its definition may reach. When it returns the run is queued and
 * ready; `isRepeat` where the actor had started it with the same key before.
 */
export async function start(
  { sql, commit, read, tools }: Work & Pick<ServerDependencies, "tools">,
  actor: Actor,
  asked: z.infer<typeof newRunSchema>,
  headerKey: string | undefined,
): Promise<{ readonly runId: string; readonly isRepeat: boolean }> {
  const policy = policyOf(asked, actor);
  const rules = asked.preset === undefined ? [] : rulesOfPreset(asked.preset, "run", tools);
  const mustApprove = policy !== undefined && isLoose(policy);
  if (!mustApprove) requireRole(actor, "operator", "Starting a run");
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

  if (mustApprove) {
    const scope = {
      scope: "run",
      scopeId: "",
      workspaceId: actor.workspaceId,
      definition: spec.data,
      definitionId: definition.id,
      startedBy: actor.userId,
      hasEnded: false,
    } as const;
    await requirePolicyRight(sql, actor, scope, "Starting a run with calls that run unasked", true);
    requireRole(actor, "operator", "Starting a run");
  }

  const anchor = await readAnchor({ read }, actor, asked);
  const runId = newId();
  // Before there is a run: at no moment does anybody read it who may not see what it is about.
  if (anchor.pageId !== undefined) await noteAnchor(sql, { runId, pageId: anchor.pageId, ...actor });
  const outcome = await commit(startRun, {
    runId,
    workspaceId: actor.workspaceId,
    definitionId: definition.id,
    definitionVersion: definition.version,
    startedBy: actor.userId,
    title: asked.title ?? titleFrom(asked.input),
    input: stringifyExact(asked.input),
    isTyped: isThemselves(actor),
    grants: grantsOf(spec.data, tools),
    ...anchor,
    ...(policy === undefined ? {} : { policy }),
    ...(key === undefined
      ? {}
      : {
          key: {
            // A key is its sender's own: two people who both count from 1 do not meet.
            key: `${actor.userId}:${key}`,
            requestHash: sha256([
              asked.definition,
              asked.input,
              asked.title,
              ...(asked.page === undefined ? [] : [JSON.stringify(anchor)]),
              ...(policy === undefined ? [] : [JSON.stringify([asked.dial, asked.approvalPolicy, asked.preset])]),
            ]),
          },
        }),
  });
  switch (outcome.kind) {
    case "started": {
      const scope = { scope: "run", scopeId: runId, workspaceId: actor.workspaceId } as const;
      const changes = rules.map(({ target, ...rule }) => ({ target, rule, covers: coversOf(target, tools) }));
      const set = await setRules(sql, scope, authorOf(actor), changes);
      // No refusal: what a refused request has committed stays, and this run would stay without the rules it was asked with.
      if (set.kind !== "set")
        throw new Error(`the run ${runId} was started, and its rules could not be set: ${set.kind}`);
      return { runId, isRepeat: false };
    }
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

function policyOf({ dial, approvalPolicy, preset }: z.infer<typeof newRunSchema>, actor: Actor): StartRun["policy"] {
  if (preset !== undefined) {
    if (dial !== undefined || approvalPolicy !== undefined) {
      throw invalidField("json.preset", "sets dial and approvalPolicy itself; send it without them");
    }
    const said = presetOf(preset);
    return { dial: said.dial, approvalPolicy: said.approvalPolicy?.level, way: wayOf(actor) };
  }
  if (dial === undefined && approvalPolicy === undefined) return undefined;
  const expiresAt = dial?.expiresAt === undefined ? undefined : new Date(dial.expiresAt);
  return { dial: dial && { level: dial.level, expiresAt }, approvalPolicy, way: wayOf(actor) };
}

/** More than asking for everything: calls could run that would wait for a person. */
function isLoose({ dial, approvalPolicy }: NonNullable<StartRun["policy"]>): boolean {
  if (dial?.level === "none" && dial.expiresAt === undefined) return false;
  return (dial !== undefined && dial.level !== "none") || (approvalPolicy !== undefined && approvalPolicy !== "all");
}

/** Whether starting it writes rules too, so that it must be one transaction. */
export function bringsRules({ preset }: z.infer<typeof newRunSchema>): boolean {
  return preset !== undefined && presetOf(preset).rules !== undefined;
}

function noDefinition(name: string): Problem {
  return new Problem(
    "not_found",
    `There is no definition ${JSON.stringify(name)} in this workspace. GET /v1/definitions lists them.`,
  );
}
