import { createHash } from "node:crypto";
import type { Keyring } from "./keyring.ts";
import type { HeldValue } from "./needles.ts";
import { openSecret } from "./open.ts";
import { additionalData } from "./sealing.ts";
import type { SealedRow } from "./secrets.ts";

/** Which secret of a workspace: the one that serves a capability. */
export interface Place {
  readonly workspaceId: string;
  readonly capability: string;
}

/** A secret in this process's memory. */
export interface OpenedSecret {
  /** Over all that decides whether and to what the row opens. */
  readonly hash: string;
  readonly secret: string;
  readonly name: string;
  readonly version: number;
  /** The value before this one: handles on it may still be open. */
  readonly before: string | undefined;
}

export interface Opener {
  /** The secret of a row, opened once for as long as everything sealed in it is unchanged. Throws BrokerError where it does not open. */
  open(place: Place, row: SealedRow): Promise<OpenedSecret>;
  forget(place: Place): void;
  /** Every value that was opened and may still be in use. */
  heldValues(): readonly HeldValue[];
}

/** Opens secrets with this ring, which it has read again, once, for a row whose key is newer than this process. */
export function createOpener({
  keyring,
  refreshKeyring,
}: {
  readonly keyring: Keyring;
  readonly refreshKeyring?: (() => Promise<void>) | undefined;
}): Opener {
  // One entry for each capability of a workspace: a newer version takes the place of the older.
  const opened = new Map<string, OpenedSecret>();

  return {
    async open(place, row) {
      const key = keyOf(place);
      const hash = hashSealed(row);
      const known = opened.get(key);
      if (known?.hash === hash) return known;
      opened.delete(key);
      if (!keyring.has(row.sealed.keyId)) await refreshKeyring?.();
      const secret = openSecret(keyring, row.identity, row.sealed);
      const { name, version } = row.identity;
      const fresh = { hash, secret, name, version, before: known?.secret };
      opened.set(key, fresh);
      return fresh;
    },
    forget: (place) => void opened.delete(keyOf(place)),
    heldValues: () =>
      [...opened.values()].flatMap(({ name, secret, before }) =>
        [secret, before].flatMap((value) => (value === undefined ? [] : [{ name, value }])),
      ),
  };
}

function keyOf({ workspaceId, capability }: Place): string {
  return JSON.stringify([workspaceId, capability]);
}

/** Each part with its length. */
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
