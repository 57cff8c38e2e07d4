import type { Queryable } from "@countersign/db/connect.ts";
import type { Keyring } from "./keyring.ts";

/** A stored secret whose key the worker does not hold. */
export interface UnreadableSecret {
  readonly workspaceId: string;
  readonly name: string;
  readonly version: number;
  readonly keyId: string;
}

export type KeyCheck =
  | { readonly kind: "ok" }
  | {
      readonly kind: "keys_missing";
      readonly secrets: readonly UnreadableSecret[];
      readonly message: string;
    };

/**
 * Says whether the ring holds the key of every live secret's current version. A worker that boots
 * with the wrong key folder learns it here, with the rows named, and not in the middle of a run.
 */
export async function bootCheckKeys(sql: Queryable, keyring: Keyring): Promise<KeyCheck> {
  const held = [...keyring.keys()];
  const secrets = await sql<UnreadableSecret[]>`
    select s.workspace_id as "workspaceId", s.name, v.version, v.key_id as "keyId"
    from secrets s
    join secret_versions v on v.secret_id = s.id and v.version = s.current_version
    where s.deleted_at is null and v.key_id <> all(${held}::text[])
    order by s.workspace_id, s.name`;
  if (secrets.length === 0) return { kind: "ok" };
  const rows = secrets.map(
    (row) =>
      `  ${row.name}, version ${row.version}, of workspace ${row.workspaceId}: key ${row.keyId}`,
  );
  const holds = held.length === 0 ? "holds no key" : `holds ${held.join(", ")}`;
  const message = [
    `${secrets.length} stored secret${secrets.length === 1 ? " was" : "s were"} sealed to a key that this worker, which ${holds}, does not have:`,
    ...rows,
    "Start it with the folder or setting that has the missing key, or set these secrets again.",
  ].join("\n");
  return { kind: "keys_missing", secrets, message };
}
