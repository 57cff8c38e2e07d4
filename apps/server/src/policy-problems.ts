import { keyOf } from "@countersign/engine/rule-changes.ts";
import type { LayerName, RuleTarget } from "@countersign/gate/rule.ts";
import type { PolicyScope } from "./policy-scope.ts";
import { Problem } from "./problem.ts";

/** Refuses to change the policy of what has ended. */
export function refuseEnded({ scope, scopeId, hasEnded }: PolicyScope): void {
  if (!hasEnded) return;
  throw new Problem("run_ended", `The ${scope} ${scopeId} has ended, so no policy of its own matters any more.`);
}

/** That rules are in other versions than those that were seen. */
export function staleTargets(found: readonly { readonly target: RuleTarget; readonly version: number }[]): Problem {
  return staleRules(found.map(({ target, version }) => `${keyOf(target)} is in version ${version}`));
}

/** That the policy of a scope is in another version than the one that was seen. */
export function stalePolicy(scope: LayerName, version: number, seenVersion: number | undefined): Problem {
  return staleRules([`the policy of this ${scope} is in version ${version}, not ${seenVersion}`]);
}

function staleRules(found: readonly string[]): Problem {
  return new Problem(
    "stale",
    `Somebody changed these rules since you saw them: ${found.join("; ")}. Nothing was changed; look again.`,
  );
}

/** That rules cannot be as they were sent: every place, and what is wrong there; `opening` says what that comes to. */
export function refusedRules(
  errors: readonly { readonly path: string; readonly line?: number; readonly message: string }[],
  opening = "Nothing was changed: the rules stand as they were.",
): Problem {
  const [first] = errors;
  const at = first?.line === undefined ? first?.path : `line ${first.line}, ${first.path}`;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return new Problem("invalid_policy", `${opening} ${at}: ${first?.message}${more}`, { errors });
}
