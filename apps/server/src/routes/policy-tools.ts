import type { Queryable } from "@countersign/db/connect.ts";
import { readWrittenRules, type WrittenRule } from "@countersign/engine/read-rules.ts";
import { keyOf } from "@countersign/engine/rule-changes.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import type { Actor } from "../auth.ts";
import { applyPreset } from "../apply-policy.ts";
import { changeDial } from "../change-dial.ts";
import { changeRules } from "../change-rules.ts";
import { stalePolicy } from "../policy-problems.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { inheritedMode, readEffectivePolicy, showEffective } from "../effective-policy.ts";
import { once, transactOnce } from "../idempotency.ts";
import { readPolicyVersion } from "../if-match.ts";
import { Problem } from "../problem.ts";
import { type AskedScope, findPolicyScope, type PolicyScope } from "../policy-scope.ts";
import { readLayer } from "../queries/rules.ts";
import { answers, idempotencyHeaders, idParam, jsonBody } from "../shapes/common.ts";
import {
  appliedDocumentSchema,
  dialBody,
  dialChangedSchema,
  effectiveSchema,
  presetBody,
  scopeQuery,
  toolsBody,
} from "../shapes/rules.ts";

const policyHeaders = idempotencyHeaders.extend({
  "if-match": z.string().optional().openapi({
    description: '`"<version>"` of the scope\'s policy; absent, whatever is there is written over',
  }),
});

const toolsHeaders = idempotencyHeaders.extend({
  "if-match": z.string().optional().openapi({
    description:
      '`"<version>"` of the scope\'s policy; absent, any version. A rule that says more than a mode is never written over',
  }),
});

const ofRun = createRoute({
  method: "get",
  path: "/runs/{id}/tools",
  summary: "What policy says of each tool of a run, and the layer it comes from",
  request: { params: idParam },
  responses: answers("The run's tools", effectiveSchema),
});

const changeOfRun = createRoute({
  method: "patch",
  path: "/runs/{id}/tools",
  summary: "Set tools of a run, families or servers off, to ask or to run; null, or what is inherited, takes that back",
  request: { params: idParam, headers: toolsHeaders, body: jsonBody(toolsBody) },
  responses: answers("The run's tools", effectiveSchema),
});

const ofScope = createRoute({
  method: "get",
  path: "/policy/tools",
  summary: "What policy says of each tool in a workspace, a definition or a run",
  request: { query: scopeQuery },
  responses: answers("The scope's tools", effectiveSchema),
});

const changeOfScope = createRoute({
  method: "patch",
  path: "/policy/tools",
  summary: "Set tools of a scope off, to ask or to run",
  request: { query: scopeQuery, headers: toolsHeaders, body: jsonBody(toolsBody) },
  responses: answers("The scope's tools", effectiveSchema),
});

const dial = createRoute({
  method: "patch",
  path: "/policy/dial",
  summary: "Set what runs unasked in a scope, for a while or for good",
  request: {
    query: scopeQuery,
    headers: policyHeaders,
    body: jsonBody(dialBody),
  },
  responses: answers("The dial is set", dialChangedSchema),
});

const preset = createRoute({
  method: "put",
  path: "/policy/preset",
  summary: "Set a scope to a preset: its dial, its approval policy and its rules together",
  request: {
    query: scopeQuery,
    headers: policyHeaders,
    body: jsonBody(presetBody),
  },
  responses: answers("What has changed", appliedDocumentSchema),
});

/** What policy comes to, tool by tool, and the controls that set it. */
export function createPolicyToolRoutes(deps: ServerDependencies) {
  const { sql, tools, ring } = deps;

  async function show(on: Queryable, scope: PolicyScope) {
    return showEffective(scope, await readLayer(on, scope), await readEffectivePolicy(on, scope, tools), tools);
  }

  async function change(
    on: Queryable,
    actor: Actor,
    asked: AskedScope,
    body: z.infer<typeof toolsBody>,
    seenVersion: number | undefined,
  ) {
    const scope = await findPolicyScope(on, actor, asked);
    const { version } = await readLayer(on, scope);
    if (seenVersion !== undefined && seenVersion !== version) throw stalePolicy(scope.scope, version, seenVersion);
    const written = await readWrittenRules(on, scope.scopeId);
    const policy = await readEffectivePolicy(on, scope, tools);
    const changes = [
      ...Object.entries(body.tools ?? {}).map(([name, mode]) => ({ target: { kind: "tool", name } as const, mode })),
      ...Object.entries(body.families ?? {}).map(([name, mode]) => ({
        target: { kind: "family", name } as const,
        mode,
      })),
      ...Object.entries(body.servers ?? {}).map(([name, mode]) => ({
        target: { kind: "server", name } as const,
        mode,
      })),
    ].map(({ target, mode }) => {
      const there = written.find((rule) => keyOf(rule.target) === keyOf(target));
      if (there !== undefined) refuseToFlatten(there);
      const isInherited = mode !== null && inheritedMode(policy, scope.scope, target, tools) === mode;
      // Against the rule that was looked at: nobody else's that comes meanwhile is written over either.
      return { target, mode: isInherited ? null : mode, version: there?.version ?? 0 };
    });
    await changeRules(on, actor, scope, changes, tools);
    return await show(on, scope);
  }

  return new OpenAPIHono<AppEnv>()
    .openapi(ofRun, async (c) => {
      const { id } = c.req.valid("param");
      return c.json(await show(sql, await findPolicyScope(sql, c.get("actor"), { scope: "run", id })), 200);
    })
    .openapi(changeOfRun, async (c) => {
      const { id } = c.req.valid("param");
      const body = c.req.valid("json");
      const seen = seenIn(c.req.valid("header")["if-match"]);
      const done = await once(c, deps, (work) => change(work.sql, c.get("actor"), { scope: "run", id }, body, seen));
      ring();
      return c.json(done, 200);
    })
    .openapi(ofScope, async (c) => {
      return c.json(await show(sql, await findPolicyScope(sql, c.get("actor"), c.req.valid("query"))), 200);
    })
    .openapi(changeOfScope, async (c) => {
      const asked = c.req.valid("query");
      const body = c.req.valid("json");
      const seen = seenIn(c.req.valid("header")["if-match"]);
      const done = await once(c, deps, (work) => change(work.sql, c.get("actor"), asked, body, seen));
      ring();
      return c.json(done, 200);
    })
    .openapi(dial, async (c) => {
      const actor = c.get("actor");
      const asked = c.req.valid("query");
      const body = c.req.valid("json");
      const seenVersion = seenIn(c.req.valid("header")["if-match"]);
      const done = await once(c, deps, async (work) => {
        const scope = await findPolicyScope(work.sql, actor, asked);
        return await changeDial(work.sql, actor, scope, body, seenVersion);
      });
      ring();
      return c.json(done, 200);
    })
    .openapi(preset, async (c) => {
      const actor = c.get("actor");
      const scope = await findPolicyScope(sql, actor, c.req.valid("query"));
      const seenVersion = seenIn(c.req.valid("header")["if-match"]);
      const asked = { ...c.req.valid("json"), seenVersion };
      const done = await transactOnce(c, deps, (tx) => applyPreset(tx, actor, scope, asked, tools));
      ring();
      return c.json(done, 200);
    });
}

function seenIn(ifMatch: string | undefined): number | undefined {
  return ifMatch === undefined ? undefined : readPolicyVersion(ifMatch);
}

/** A mode alone would take away what else the rule says, such as which calls it denies. */
function refuseToFlatten({ target, mode, entries, locked, expiresAt }: WrittenRule): void {
  const more = [
    ...(entries === undefined ? [] : [`speaks of ${entries.length === 1 ? "one" : entries.length} of its calls alone`]),
    ...(locked === undefined ? [] : ["is locked"]),
    ...(expiresAt === undefined ? [] : [`ends at ${expiresAt.toISOString()}`]),
  ];
  if (more.length === 0) return;
  throw new Problem(
    "wrong_kind",
    `Nothing was changed: the rule ${mode} of ${keyOf(target)} says more than a mode, it ${more.join(", and ")}. Change it as a rule, with PATCH /v1/rules or among the stored rules.`,
  );
}
