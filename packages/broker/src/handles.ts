import { createHash } from "node:crypto";
import type { Queryable } from "@countersign/db/connect.ts";
import { BrokerError } from "./broker-error.ts";
import type { Keyring } from "./keyring.ts";
import { openSecret } from "./open.ts";
import { additionalData } from "./sealing.ts";
import { readSealed, type SealedRow } from "./secrets.ts";

/** An open credential of one capability. `use` is the only way to its value; however it is printed, it shows none. */
export interface Handle {
  readonly capability: string;
  readonly leaseId: string;
  use<T>(body: (secret: string) => Promise<T>): Promise<T>;
  toString(): string;
  toJSON(): string;
}

/** Which credential, for whom, under which lease. */
export interface OpenRequest {
  readonly workspaceId: string;
  readonly capability: string;
  readonly leaseId: string;
}

/** `message` is for the person who sets secrets, and safe to show. */
export type OpenOutcome =
  | { readonly kind: "opened"; readonly handle: Handle }
  | {
      readonly kind: "refused";
      readonly code: "secret_missing" | "secret_unreadable" | "key_unknown";
      readonly message: string;
    };

export interface Broker {
  /**
   * Opens the current version of the secret that serves a capability, after the caller has committed
   * the lease and the audit row. The row is read anew each time, so a secret that was set again is
   * picked up here; what was opened before is reused only while everything sealed is unchanged.
   */
  open(request: OpenRequest): Promise<OpenOutcome>;
}

interface OpenedSecret {
  readonly hash: string;
  readonly secret: string;
}

/** A broker that opens secrets with this ring; for the worker alone. Opened values live in its memory only. */
export function createBroker({
  sql,
  keyring,
}: {
  readonly sql: Queryable;
  readonly keyring: Keyring;
}): Broker {
  // One entry for each capability of a workspace: a newer version takes the place of the older.
  const opened = new Map<string, OpenedSecret>();

  async function open(request: OpenRequest): Promise<OpenOutcome> {
    const { workspaceId, capability } = request;
    const place = JSON.stringify([workspaceId, capability]);
    const row = await readSealed(sql, { workspaceId, capability });
    if (row === undefined) {
      opened.delete(place);
      return { kind: "refused", code: "secret_missing", message: missingSecretText(capability) };
    }
    const hash = hashSealed(row);
    const known = opened.get(place);
    if (known?.hash === hash) return { kind: "opened", handle: makeHandle(request, known.secret) };

    opened.delete(place);
    try {
      const secret = openSecret(keyring, row.identity, row.sealed);
      opened.set(place, { hash, secret });
      return { kind: "opened", handle: makeHandle(request, secret) };
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      if (error.code !== "secret_unreadable" && error.code !== "key_unknown") throw error;
      return { kind: "refused", code: error.code, message: error.message };
    }
  }

  return { open };
}

function makeHandle({ capability, leaseId }: OpenRequest, secret: string): Handle {
  const printed = `[handle ${capability}]`;
  const handle: Handle & Record<symbol, () => string> = {
    capability,
    leaseId,
    use: (body) => body(secret),
    toString: () => printed,
    toJSON: () => printed,
    [Symbol.for("nodejs.util.inspect.custom")]: () => printed,
  };
  return Object.freeze(handle);
}

/** Over all that decides whether and to what a row opens, each part with its length. */
function hashSealed({ identity, sealed }: SealedRow): string {
  const parts = [
    additionalData("secret", identity, sealed.keyId),
    sealed.ephemeralPublicKey,
    sealed.sealedDataKey,
    sealed.dataKeyNonce,
    sealed.nonce,
    sealed.ciphertext,
  ];
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest("hex");
}

function missingSecretText(capability: string): string {
  return `No secret is set for ${capability} in this workspace. An administrator can set one under Secrets, or with: ./countersign secrets set ${capability}`;
}
