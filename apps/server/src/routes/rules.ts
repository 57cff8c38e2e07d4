import { revokeRules } from "@countersign/engine/commits/revoke-rules.ts";
import { coversOf } from "@countersign/engine/rule-changes.ts";
import type { Queryable } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import type { Actor } from "../auth.ts";
import { applyDocument } from "../apply-policy.ts";
import { changeRules, previewRules } from "../change-rules.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { once, transactOnce } from "../idempotency.ts";
import { readPolicyVersion, readVersion } from "../if-match.ts";
import { authorOf, findPolicyScope, requirePolicyRight } from "../policy-scope.ts";
import { Problem } from "../problem.ts";
import { findRule, readLayer, readTargets } from "../queries/rules.ts";
import { answers, idempotencyHeaders, idempotencyParameter, idParam, jsonBody } from "../shapes/common.ts";
import { dryRunQuery } from "../shapes/definitions.ts";
import {
  appliedDocumentSchema,
  changedSchema,
  changesBody,
  documentBody,
  layerSchema,
  revokeBody,
  revokedRulesSchema,
  scopeQuery,
} from "../shapes/rules.ts";

const get = createRoute({
  method: "get",
  path: "/rules",
  summary:
    "All that a scope says: its rules, those that decisions left there, its dial; its policy version is the ETag",
  request: { query: scopeQuery },
  responses: answers("What the scope says", layerSchema),
});

const patch = createRoute({
  method: "patch",
  path: "/rules",
  summary: "Change rules of a scope, all of them or none, or see the difference first",
  parameters: [idempotencyParameter],
  request: { query: scopeQuery.extend(dryRunQuery.shape), body: jsonBody(changesBody) },
  responses: answers("What became of each change", changedSchema),
});

const put = createRoute({
  method: "put",
  path: "/rules",
  summary: "Make a scope say what a document says and nothing else, or see the difference first",
  request: {
    headers: idempotencyHeaders.extend({
      "if-match": z.string().optional().openapi({
        description: '`"<version>"` of the scope\'s policy as you saw it; required but for a dry run',
      }),
    }),
    query: scopeQuery.extend(dryRunQuery.shape),
    body: jsonBody(documentBody),
  },
  responses: answers("What has changed", appliedDocumentSchema),
});

const revoke = createRoute({
  method: "post",
  path: "/rules/revoke",
  summary: "Take rules back by id and version, or all that decisions left in a scope",
  parameters: [idempotencyParameter],
  request: { body: jsonBody(revokeBody) },
  responses: answers("What became of each", revokedRulesSchema),
});

const remove = createRoute({
  method: "delete",
  path: "/rules/{id}",
  summary: "Take one rule back, in the version that was seen",
  request: {
    params: idParam,
    headers: z.object({ "if-match": z.string().optional().openapi({ description: '`"<version>"` of the rule' }) }),
  },
  responses: answers("What became of it", revokedRulesSchema),
});

/** Rules: what was answered for later calls. */
export function createRuleRoutes(deps: ServerDependencies) {
  const { sql, tools, ring } = deps;

  async function takeBack(
    on: Queryable,
    actor: Actor,
    { reason, rules, ...asked }: z.infer<typeof revokeBody>,
  ): Promise<z.infer<typeof revokedRulesSchema>> {
    const scope = await findPolicyScope(on, actor, asked);
    // Without a denial of theirs calls could run that are denied now.
    await requirePolicyRight(on, actor, scope, "Taking rules back", rules !== "remembered");
    const targets =
      rules === "remembered"
        ? undefined
        : await readTargets(
            on,
            scope.scopeId,
            rules.map(({ id }) => id),
          );
    const named =
      rules === "remembered"
        ? rules
        : rules.map(({ id, version }) => {
            const target = targets?.get(id);
            return { id, version, covers: target && coversOf(target, tools) };
          });
    const outcome = await revokeRules(on, scope, authorOf(actor), named, reason);
    if (outcome.kind === "not_found") {
      throw new Problem("not_found", `There is no ${scope.scope} ${scope.scopeId} in this workspace.`);
    }
    return {
      scope: scope.scope,
      id: scope.scopeId,
      rules: outcome.rules.map((rule) => ({
        id: rule.id,
        outcome: rule.kind,
        version: "version" in rule ? rule.version : null,
        waiting: rule.kind === "revoked" ? rule.waiting : 0,
      })),
    };
  }

  return new OpenAPIHono<AppEnv>()
    .openapi(get, async (c) => {
      const scope = await findPolicyScope(sql, c.get("actor"), c.req.valid("query"));
      const layer = await readLayer(sql, scope);
      c.header("ETag", `"${layer.version}"`);
      return c.json(layer, 200);
    })
    .openapi(patch, async (c) => {
      const actor = c.get("actor");
      const { dryRun, ...asked } = c.req.valid("query");
      const { changes } = c.req.valid("json");
      if (dryRun === "true") {
        return c.json(await previewRules(sql, await findPolicyScope(sql, actor, asked), changes, tools), 200);
      }
      const done = await once(c, deps, async (work) => {
        const scope = await findPolicyScope(work.sql, actor, asked);
        return await changeRules(work.sql, actor, scope, changes, tools);
      });
      ring();
      return c.json(done, 200);
    })
    .openapi(put, async (c) => {
      const actor = c.get("actor");
      const { dryRun, ...asked } = c.req.valid("query");
      const scope = await findPolicyScope(sql, actor, asked);
      const text = await c.req.text();
      if (dryRun === "true") {
        const shown = await transaction(sql, (tx) =>
          applyDocument(tx, actor, scope, { text, isDryRun: true, seenVersion: undefined }, tools),
        );
        return c.json(shown, 200);
      }
      const ifMatch = c.req.valid("header")["if-match"];
      if (ifMatch === undefined) {
        throw new Problem(
          "precondition_required",
          "A document takes the place of all that the scope says: send the header If-Match with the policy version you saw, as GET /v1/rules shows it; with ?dryRun=true the difference is shown first.",
        );
      }
      const seenVersion = readPolicyVersion(ifMatch);
      const done = await transactOnce(c, deps, (tx) =>
        applyDocument(tx, actor, scope, { text, isDryRun: false, seenVersion }, tools),
      );
      ring();
      return c.json(done, 200);
    })
    .openapi(revoke, async (c) => {
      const actor = c.get("actor");
      const asked = c.req.valid("json");
      const done = await once(c, deps, async (work) => await takeBack(work.sql, actor, asked));
      ring();
      return c.json(done, 200);
    })
    .openapi(remove, async (c) => {
      const actor = c.get("actor");
      const { id } = c.req.valid("param");
      const found = await findRule(sql, actor.workspaceId, id);
      if (found === undefined) {
        throw new Problem("not_found", `There is no rule ${id} in this workspace. GET /v1/rules lists them.`);
      }
      const ifMatch = c.req.valid("header")["if-match"];
      const { scope, scopeId } = found;
      await requirePolicyRight(
        sql,
        actor,
        await findPolicyScope(sql, actor, { scope, id: scopeId }),
        "Taking rules back",
        true,
      );
      if (ifMatch === undefined) {
        throw new Problem(
          "precondition_required",
          "A rule is taken back in the version that you saw: send the header If-Match with it, as GET /v1/rules shows it.",
        );
      }
      const rules = [{ id, version: readVersion(ifMatch) }];
      const done = await transactOnce(c, deps, (tx) => takeBack(tx, actor, { scope, id: scopeId, rules }));
      if (done.rules.some(({ outcome }) => outcome === "stale")) {
        throw new Problem("stale", `The rule ${id} was changed since you saw it, and stays. Look at it again.`);
      }
      ring();
      return c.json(done, 200);
    });
}
