import { problemOfPattern } from "./patterns.ts";
import type { Policy } from "./types.ts";

/** Whether all of a policy can be read: it was when it was loaded, and every pattern in it can be matched. */
export function isReadable(policy: Policy): boolean {
  if (policy.unreadable === true) return false;
  return Object.values(policy.layers).every(({ rules = [] }) =>
    rules.every(({ entries = [] }) =>
      entries.every((entry) => entry.kind !== "pattern" || problemOfPattern(entry.pattern) === undefined),
    ),
  );
}
