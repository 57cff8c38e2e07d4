import { randomUUID } from "node:crypto";
import type { Queryable, Sql, Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { actorOf, appendAudit } from "./append-audit.ts";
import { BrokerError } from "./broker-error.ts";
import type { BrokerPublicKey } from "./public-key.ts";
import { sealSecret } from "./seal.ts";
import type { SealedSecret, SecretIdentity } from "./sealing.ts";

/** A secret as somebody sets it. */
export interface NewSecret {
  readonly workspaceId: string;
  readonly name: string;
  /** What the secret gives reach to, such as `mail.send`. A workspace has one live secret for each. */
  readonly capability: string;
  readonly value: string;
  /** The user who set it; undefined for the system. */
  readonly createdBy?: string;
}

export type PutOutcome =
  | { readonly kind: "stored"; readonly id: string; readonly version: number }
  /** Another live secret of this name already serves the capability. */
  | { readonly kind: "capability_taken"; readonly name: string };

/** What may be told about a secret. */
export interface SecretSummary {
  readonly id: string;
  readonly name: string;
  readonly capability: string;
  readonly version: number;
  readonly keyId: string;
  readonly createdAt: Date;
  /** When the current version was set. */
  readonly setAt: Date;
}

/** A stored version of a secret, as the database has it. */
export interface SealedRow {
  readonly identity: SecretIdentity;
  readonly sealed: SealedSecret;
}

/**
 * Stores `value` as the next version of the secret of this name, which from the commit on is the one that is acquired; a
 * deleted secret lives again. Only the sealed form reaches the database, with an audit row. Throws `secret_too_short` and
 * `secret_not_text` as `sealSecret` does, `key_retired` for a key that was retired; then nothing is stored.
 */
export async function putSecret(sql: Sql, publicKey: BrokerPublicKey, secret: NewSecret): Promise<PutOutcome> {
  return transaction(sql, async (tx) => {
    await lockSecretsOf(tx, secret.workspaceId);
    const taken = await findHolder(tx, secret);
    if (taken !== undefined) return { kind: "capability_taken", name: taken };
    const stored = await storeVersion(tx, publicKey, secret);
    await appendAudit(tx, {
      workspaceId: secret.workspaceId,
      actor: actorOf(secret.createdBy),
      action: "secret.set",
      subject: secret.name,
      details: { capability: secret.capability, version: stored.version },
    });
    return { kind: "stored", ...stored };
  });
}

/**
 * Afterwards the secret of this name is a tombstone: its handles fail at their next use, nothing acquires it, and only a
 * person who sets it again revives it. Answers whether there was a live one.
 */
export async function deleteSecret(
  sql: Sql,
  secret: { readonly workspaceId: string; readonly name: string; readonly deletedBy?: string },
): Promise<{ readonly kind: "deleted" | "not_found" }> {
  const { workspaceId, name, deletedBy } = secret;
  return transaction(sql, async (tx) => {
    await lockSecretsOf(tx, workspaceId);
    const [row] = await tx<{ capability: string }[]>`
      update secrets set deleted_at = clock_timestamp(), deleted_by = ${deletedBy ?? null}, refreshing_until = null
      where workspace_id = ${workspaceId} and name = ${name} and deleted_at is null
      returning capability`;
    if (row === undefined) return { kind: "not_found" };
    await appendAudit(tx, {
      workspaceId,
      actor: actorOf(deletedBy),
      action: "secret.deleted",
      subject: name,
      details: { capability: row.capability },
    });
    return { kind: "deleted" };
  });
}

/**
 * Holds still which secrets a workspace has. Two indexes guard them, and an upsert waits on one only: two first puts at once
 * would collide on the other.
 */
export async function lockSecretsOf(tx: Tx, workspaceId: string): Promise<void> {
  await tx`select from workspaces where id = ${workspaceId} for no key update`;
}

async function findHolder(tx: Tx, secret: NewSecret): Promise<string | undefined> {
  const { workspaceId, name, capability } = secret;
  const [holder] = await tx<{ name: string }[]>`
    select name from secrets
    where workspace_id = ${workspaceId} and capability = ${capability} and deleted_at is null and name <> ${name}`;
  return holder?.name;
}

/** Writes the next version, under the lock of `lockSecretsOf`. The caller has checked that the capability is free. */
export async function storeVersion(
  tx: Tx,
  publicKey: BrokerPublicKey,
  secret: NewSecret,
): Promise<{ id: string; version: number }> {
  const { workspaceId, name, capability } = secret;
  await shareKey(tx, publicKey.keyId);
  const [row] = await tx<{ id: string; version: number }[]>`
    insert into secrets as s (id, workspace_id, name, capability, current_version)
    values (${randomUUID()}, ${workspaceId}, ${name}, ${capability}, 1)
    on conflict (workspace_id, name) do update
      set capability = excluded.capability, current_version = s.current_version + 1,
          deleted_at = null, deleted_by = null, refreshing_until = null
    returning id, current_version as version`;
  if (row === undefined) throw new Error(`Storing the secret ${name} returned no row.`);

  const { id, version } = row;
  const sealed = sealSecret(publicKey, { id, name, scope: workspaceId, capability, version }, secret.value);
  await tx`
    insert into secret_versions
      (secret_id, version, capability, key_id, ephemeral_public_key, sealed_data_key, data_key_nonce, nonce, ciphertext, created_by)
    values
      (${id}, ${version}, ${capability}, ${sealed.keyId}, ${sealed.ephemeralPublicKey}, ${sealed.sealedDataKey},
       ${sealed.dataKeyNonce}, ${sealed.nonce}, ${sealed.ciphertext}, ${secret.createdBy ?? null})`;
  return { id, version };
}

/**
 * Keeps a key from being retired until the transaction ends. Throws `key_retired` where it was: a process that still
 * seals to it has read an old public key.
 */
export async function shareKey(tx: Tx, keyId: string): Promise<void> {
  await tx`insert into master_keys (key_id) values (${keyId}) on conflict (key_id) do nothing`;
  const [key] = await tx<{ is_retired: boolean }[]>`
    select retired_at is not null as is_retired from master_keys where key_id = ${keyId} for share`;
  if (key?.is_retired === true) {
    throw new BrokerError(
      "key_retired",
      `The key ${keyId} was retired, so nothing is sealed to it any more. Restart this process: it has an old public key.`,
    );
  }
}

/** The live secrets of a workspace by name, without anything that could be opened. */
export async function listSecrets(sql: Queryable, workspaceId: string): Promise<SecretSummary[]> {
  return sql<SecretSummary[]>`
    select s.id, s.name, s.capability, v.version, v.key_id as "keyId",
           s.created_at as "createdAt", v.created_at as "setAt"
    from secrets s
    join secret_versions v on v.secret_id = s.id and v.version = s.current_version
    where s.workspace_id = ${workspaceId} and s.deleted_at is null
    order by s.name`;
}

/** The sealed current version of the secret that serves `capability` in a workspace; undefined where none is set. */
export async function readSealed(
  sql: Queryable,
  { workspaceId, capability }: { readonly workspaceId: string; readonly capability: string },
): Promise<SealedRow | undefined> {
  const [row] = await sql.unsafe<SealedColumns[]>(
    `select ${sealedColumns("s.capability")}
       from secrets s
       join secret_versions v on v.secret_id = s.id and v.version = s.current_version
      where s.workspace_id = $1::uuid and s.capability = $2 and s.deleted_at is null`,
    [workspaceId, capability],
    { prepare: true },
  );
  return row && sealedRowOf(row);
}

export type SealedColumns = SecretIdentity & SealedSecret;

/** The columns of a sealed row, of the tables `secrets s` and `secret_versions v`. */
export function sealedColumns(capability: "s.capability" | "v.capability"): string {
  return `s.id, s.name, s.workspace_id as scope, ${capability} as capability, v.version, v.key_id as "keyId",
          v.ephemeral_public_key as "ephemeralPublicKey", v.sealed_data_key as "sealedDataKey",
          v.data_key_nonce as "dataKeyNonce", v.nonce, v.ciphertext`;
}

/** A stored row as what opens it takes it: whose it is, and what is sealed. */
export function sealedRowOf(row: SealedColumns): SealedRow {
  const { id, name, scope, capability, version } = row;
  const { keyId, ephemeralPublicKey, sealedDataKey, dataKeyNonce, nonce, ciphertext } = row;
  return {
    identity: { id, name, scope, capability, version },
    sealed: { keyId, ephemeralPublicKey, sealedDataKey, dataKeyNonce, nonce, ciphertext },
  };
}
