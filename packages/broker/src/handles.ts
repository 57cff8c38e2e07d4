import type { Queryable } from "@countersign/db/connect.ts";
import { BrokerError } from "./broker-error.ts";
import type { Keyring } from "./keyring.ts";
import {
  HandleRefused,
  readStanding,
  refusalText,
  refuse,
  type LeaseKey,
  type Refusal,
  type RefusalCode,
  type Standing,
} from "./lease.ts";
import type { HeldValue } from "./needles.ts";
import { createOpener, type OpenedSecret } from "./opener.ts";
import { readSealed } from "./secrets.ts";

/**
 * An open credential of one capability, for one call. `use` is the only way to its value, and checks the lease each time:
 * it throws `HandleRefused` once the lease, the grant or the secret is gone. However it is printed, it shows no value.
 */
export interface Handle {
  readonly capability: string;
  /** The version of the secret that it lends. */
  readonly version: number;
  /** Changes with everything that is sealed: what a client that outlives the call, such as a pool, is kept under. */
  readonly cacheKey: string;
  use<T>(body: (secret: string) => Promise<T>): Promise<T>;
  toString(): string;
  toJSON(): string;
}

/** Which credential, and how its lease is renewed. */
export interface OpenRequest extends LeaseKey {
  /**
   * Acquires the capability once more for the call, in a commit of the engine that leaves its own audit row. Undefined
   * where a lease that is over stays so.
   */
  readonly renew?: () => Promise<"renewed" | "refused" | "audit_unavailable">;
}

export type OpenOutcome = { readonly kind: "opened"; readonly handle: Handle } | Refusal;

export interface Broker {
  /**
   * Opens the current version of the secret that serves a capability, for a call whose lease and audit row are committed;
   * a lease that is over is renewed first. The row is read anew each time, so a secret that was set again is picked up
   * here; what was opened before is reused only while everything sealed is unchanged. A refusal leaves an audit row.
   */
  open(request: OpenRequest): Promise<OpenOutcome>;
  /** Every value that this process has in hand, for the scrubbers. */
  heldValues(): readonly HeldValue[];
}

export interface BrokerOptions {
  readonly sql: Queryable;
  readonly keyring: Keyring;
  /** Reads the ring again, once for a row whose key is not in it: the key may be newer than this process. */
  readonly refreshKeyring?: () => Promise<void>;
}

/** A broker that opens secrets with this ring; for the worker alone. Opened values live in its memory only. */
export function createBroker({ sql, keyring, refreshKeyring }: BrokerOptions): Broker {
  const opener = createOpener({ keyring, refreshKeyring });

  async function open(request: OpenRequest): Promise<OpenOutcome> {
    const standing = await readRenewed(sql, request);
    if (standing.kind === "refused") {
      if (standing.code === "secret_missing") opener.forget(request);
      return standing;
    }
    const row = await readSealed(sql, request);
    if (row === undefined) {
      opener.forget(request);
      return await refuse(sql, request, "secret_missing");
    }
    try {
      return { kind: "opened", handle: makeHandle(sql, request, await opener.open(request, row), standing) };
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      if (error.code !== "secret_unreadable" && error.code !== "key_unknown") throw error;
      return await refuse(sql, request, error.code, error.message);
    }
  }

  return { open, heldValues: opener.heldValues };
}

type Live = Extract<Standing, { kind: "live" }>;

/** The lease as it stands, renewed where that is all it lacks. A refusal is in the audit. */
async function readRenewed(sql: Queryable, request: OpenRequest): Promise<Live | Refusal> {
  const standing = await readStanding(sql, request);
  if (standing.kind === "live") return standing;
  const { code } = standing;
  if ((code !== "lease_expired" && code !== "lease_missing") || request.renew === undefined)
    return await refuse(sql, request, code);
  const renewed = await request.renew();
  if (renewed !== "renewed") return refusalOf(renewed === "refused" ? code : renewed, request.capability);
  const after = await readStanding(sql, request);
  return after.kind === "live" ? after : await refuse(sql, request, after.code);
}

/** A refusal that is on record already, or cannot be. */
function refusalOf(code: RefusalCode, capability: string): Refusal {
  return { kind: "refused", code, message: refusalText(code, capability) };
}

function makeHandle(sql: Queryable, request: OpenRequest, opened: OpenedSecret, granted: Live): Handle {
  const printed = `[handle ${request.capability}]`;
  const { secret, version, hash } = opened;
  const handle: Handle & Record<symbol, () => string> = {
    capability: request.capability,
    version,
    cacheKey: hash,
    use: async (body) => {
      const standing = await readRenewed(sql, request);
      if (standing.kind === "refused") throw new HandleRefused(standing);
      // A later attempt of the call has handles of its own, and a secret that was deleted and set under another name is another.
      if (standing.attempt !== granted.attempt) throw new HandleRefused(await refuse(sql, request, "call_ended"));
      if (standing.secretId !== granted.secretId) throw new HandleRefused(await refuse(sql, request, "secret_missing"));
      return await body(secret);
    },
    toString: () => printed,
    toJSON: () => printed,
    [Symbol.for("nodejs.util.inspect.custom")]: () => printed,
  };
  return Object.freeze(handle);
}
