import type { Facts, Row } from "../facts.ts";
import type { Denylisted } from "../unit.ts";

/** Everything on the denylist that a call does. */
export function denylistedOf({ units }: Facts): readonly Denylisted[] {
  return units?.flatMap(({ denylisted = [] }) => denylisted) ?? [];
}

/**
 * Row 7, softened: what the app softened asks, under every dial. It stands after row 9, so that what a person denied is
 * not asked again.
 */
export const askSoftened: Row = (facts) => {
  const found = denylistedOf(facts).find(({ name }) => facts.policy.denylistSoftened?.has(name) === true);
  return found && { verdict: "ask", row: "7", reason: `denylist:${found.name}` };
};
