import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { auditKeyFile } from "@countersign/broker/audit-key.ts";
import type { Keyring } from "@countersign/broker/keyring.ts";
import type { HeldValue } from "@countersign/broker/needles.ts";
import type { WorkerConfig } from "./config.ts";

/** What this process holds of its own that no result may show: passwords of the database, private keys, the endpoint's key. */
export interface OwnSecrets {
  /** As it is now: the ring grows when its keys are rotated. */
  values(): readonly HeldValue[];
}

/** Reads them once; of the ring, which may grow, whatever it holds when it is asked. */
export async function readOwnSecrets(
  { databaseUrl, databaseDirectUrl, dataDir, embeddings }: WorkerConfig,
  keyring: Keyring,
): Promise<OwnSecrets> {
  const passwords = [databaseUrl, databaseDirectUrl].map((url) => decodeURIComponent(new URL(url).password));
  const auditKey: { d?: unknown } = JSON.parse(await readFile(join(dataDir, auditKeyFile), "utf8"));
  const fixed = [
    ...[...new Set(passwords)].map((value) => ({ name: "database password", value })),
    ...(embeddings?.key === undefined ? [] : [{ name: "embeddings key", value: embeddings.key }]),
    ...(typeof auditKey.d === "string" ? [{ name: "audit key", value: auditKey.d }] : []),
  ];
  const exported = new Map<string, HeldValue>();
  return {
    values() {
      for (const [keyId, { key }] of keyring) {
        if (exported.has(keyId)) continue;
        exported.set(keyId, { name: "master key", value: key.export({ format: "jwk" }).d ?? "" });
      }
      return [...fixed, ...exported.values()];
    },
  };
}
