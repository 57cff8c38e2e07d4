import { createHash } from "node:crypto";
import { v7 as newId } from "uuid";
import type { Actor } from "./auth.ts";

/**
 * The id of what a request creates: new, or with an idempotency key always the same one for this actor, key and purpose,
 * so that the insert itself finds out whether it was made before.
 */
export function idFor(actor: Actor, purpose: string, key: string | undefined): string {
  if (key === undefined) return newId();
  const digest = sha256([actor.workspaceId, actor.userId, purpose, key]);
  // Version 8 is the one whose bits are free.
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}

/** The same for equal requests and different for others. */
export function sha256(parts: readonly (string | undefined)[]): string {
  return createHash("sha256")
    .update(JSON.stringify(parts.map((part) => part ?? null)))
    .digest("hex");
}
