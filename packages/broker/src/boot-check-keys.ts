import type { Queryable } from "@countersign/db/connect.ts";
import { BrokerError } from "./broker-error.ts";
import type { Keyring } from "./keyring.ts";
import { openSecret } from "./open.ts";
import { sealedColumns, sealedRowOf, type SealedColumns } from "./secrets.ts";

/** A stored secret that the worker cannot open. */
export interface UnreadableSecret {
  readonly workspaceId: string;
  readonly name: string;
  readonly version: number;
  readonly keyId: string;
}

export type KeyCheck =
  | { readonly kind: "ok" }
  | {
      /** `secrets_unreadable`: the keys are there, and the rows do not open with them: they were changed or moved. */
      readonly kind: "keys_missing" | "secrets_unreadable";
      readonly secrets: readonly UnreadableSecret[];
      readonly message: string;
    };

/**
 * Says whether the ring opens the current version of every live secret. A worker that boots with the wrong key folder, or
 * on rows that were tampered with, learns it here, with the rows named, and not in the middle of a run.
 */
export async function bootCheckKeys(sql: Queryable, keyring: Keyring): Promise<KeyCheck> {
  const held = [...keyring.keys()];
  const rows = await sql.unsafe<SealedColumns[]>(
    `select ${sealedColumns("s.capability")}
       from secrets s
       join secret_versions v on v.secret_id = s.id and v.version = s.current_version
      where s.deleted_at is null
      order by s.workspace_id, s.name`,
    [],
    { prepare: true },
  );
  const locked = rows.filter((row) => !held.includes(row.keyId)).map(describe);
  if (locked.length > 0) {
    const holds = held.length === 0 ? "holds no key" : `holds ${held.join(", ")}`;
    const message = [
      `${countSecrets(locked)} sealed to a key that this worker, which ${holds}, does not have:`,
      ...locked.map(lineOf),
      "Start it with the folder or setting that has the missing key, or set these secrets again.",
    ].join("\n");
    return { kind: "keys_missing", secrets: locked, message };
  }
  const broken = rows.filter((row) => !opens(keyring, row)).map(describe);
  if (broken.length === 0) return { kind: "ok" };
  const message = [
    `${countSecrets(broken)} changed since, so the key that the row names does not open it:`,
    ...broken.map(lineOf),
    "Set them again, or delete them.",
  ].join("\n");
  return { kind: "secrets_unreadable", secrets: broken, message };
}

function opens(keyring: Keyring, row: SealedColumns): boolean {
  const { identity, sealed } = sealedRowOf(row);
  try {
    openSecret(keyring, identity, sealed);
    return true;
  } catch (error) {
    if (error instanceof BrokerError) return false;
    throw error;
  }
}

function describe({ scope, name, version, keyId }: SealedColumns): UnreadableSecret {
  return { workspaceId: scope, name, version, keyId };
}

function countSecrets(secrets: readonly UnreadableSecret[]): string {
  return `${secrets.length} stored secret${secrets.length === 1 ? " was" : "s were"}`;
}

function lineOf({ name, version, workspaceId, keyId }: UnreadableSecret): string {
  return `  ${name}, version ${version}, of workspace ${workspaceId}: key ${keyId}`;
}
