import type { Queryable } from "@countersign/db/connect.ts";
import { appendAudit } from "./append-audit.ts";
import type { Keyring } from "./keyring.ts";
import { refusalText } from "./lease.ts";
import type { HeldValue } from "./needles.ts";
import { createOpener, type Place } from "./opener.ts";
import { readSealed } from "./secrets.ts";

/** The workspace has no such secret; `message` says how to set it. */
export class SecretMissing extends Error {
  override readonly name = "SecretMissing";
}

/** Secrets that the worker uses for a workspace outside any tool call, such as the key of its model. */
export interface ProcessSecrets {
  /**
   * Lends the current version to `body`. The row is read each time, so a rotated secret is used by the next request and a
   * deleted one by none. Each version that is opened leaves an audit row before it is used. Throws SecretMissing, or
   * BrokerError where it does not open.
   */
  use<T>(place: Place, body: (secret: string) => Promise<T>): Promise<T>;
  heldValues(): readonly HeldValue[];
}

/** For the worker alone; opened values live in its memory only. */
export function createProcessSecrets(options: {
  readonly sql: Queryable;
  readonly keyring: Keyring;
  readonly refreshKeyring?: () => Promise<void>;
}): ProcessSecrets {
  const { sql } = options;
  const opener = createOpener(options);
  const audited = new Set<string>();

  return {
    async use(place, body) {
      const row = await readSealed(sql, place);
      if (row === undefined) {
        opener.forget(place);
        throw new SecretMissing(refusalText("secret_missing", place.capability));
      }
      const { hash, secret, name, version } = await opener.open(place, row);
      if (!audited.has(hash)) {
        const { workspaceId, capability } = place;
        const details = { capability, version };
        await appendAudit(sql, { workspaceId, actor: "system", action: "secret.opened", subject: name, details });
        audited.add(hash);
      }
      return await body(secret);
    },
    heldValues: opener.heldValues,
  };
}
