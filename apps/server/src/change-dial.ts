import type { Queryable } from "@countersign/db/connect.ts";
import { type DialChange, setDial } from "@countersign/engine/commits/set-dial.ts";
import type { z } from "@hono/zod-openapi";
import type { Actor } from "./auth.ts";
import { loosens } from "./loosens.ts";
import { refuseEnded, stalePolicy } from "./policy-problems.ts";
import { authorOf, type PolicyScope, requirePolicyRight } from "./policy-scope.ts";
import { Problem } from "./problem.ts";
import type { dialBody, dialChangedSchema } from "./shapes/rules.ts";

/** Afterwards the scope's dial and approval policy are as asked. */
export async function changeDial(
  sql: Queryable,
  actor: Actor,
  scope: PolicyScope,
  asked: z.infer<typeof dialBody>,
  seenVersion: number | undefined,
): Promise<z.infer<typeof dialChangedSchema>> {
  const { dial, approvalPolicy } = asked;
  const change: DialChange = {
    ...(dial === undefined
      ? {}
      : {
          dial: dial && {
            level: dial.level,
            locked: dial.locked === true,
            expiresAt: dial.expiresAt === undefined ? undefined : new Date(dial.expiresAt),
          },
        }),
    ...(approvalPolicy === undefined
      ? {}
      : { approvalPolicy: approvalPolicy && { level: approvalPolicy.level, locked: approvalPolicy.locked === true } }),
    seenVersion,
  };
  await requirePolicyRight(sql, actor, scope, "Changing what runs unasked", loosens([], [], change));
  refuseEnded(scope);
  if (scope.scope !== "workspace" && (dial?.locked === true || approvalPolicy?.locked === true)) {
    throw new Problem("invalid_request", `Only a workspace and the app can lock; a ${scope.scope} cannot.`, {
      errors: [{ path: "json.dial.locked", message: "goes with the scope workspace alone" }],
    });
  }
  const outcome = await setDial(sql, scope, authorOf(actor), change);
  switch (outcome.kind) {
    case "not_found":
      throw new Problem("not_found", `There is no ${scope.scope} ${scope.scopeId} in this workspace.`);
    case "stale":
      throw stalePolicy(scope.scope, outcome.version, seenVersion);
    case "unchanged":
      return { scope: scope.scope, id: scope.scopeId, outcome: "unchanged", version: outcome.version, waiting: 0 };
    case "set":
      return {
        scope: scope.scope,
        id: scope.scopeId,
        outcome: "set",
        version: outcome.version,
        waiting: outcome.waiting,
      };
  }
}
