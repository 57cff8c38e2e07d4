import { Problem } from "./problem.ts";

/** The version that an If-Match header names; refused unless it is one in double quotes, as ETags show it. */
export function readVersion(ifMatch: string): number {
  const version = /^"([1-9]\d{0,8})"$/.exec(ifMatch)?.[1];
  if (version !== undefined) return Number(version);
  throw new Problem(
    "invalid_request",
    `If-Match is ${JSON.stringify(ifMatch.slice(0, 40))}; expected the version you saw in double quotes, such as "1".`,
    { errors: [{ path: "header.if-match", message: "expected a version in double quotes" }] },
  );
}

/** The same for the policy version of a scope, which is 0 as long as nothing was set there. */
export function readPolicyVersion(ifMatch: string): number {
  return ifMatch === '"0"' ? 0 : readVersion(ifMatch);
}
