import { randomUUID } from "node:crypto";
import type { Queryable, Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
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

/** The current version of a stored secret, as the database has it. */
export interface SealedRow {
  readonly identity: SecretIdentity;
  readonly sealed: SealedSecret;
}

/**
 * Stores `value` as the next version of the secret of this name, which from the commit on is the one
 * that is acquired; a deleted secret lives again. Only the sealed form reaches the database.
 * Throws `secret_too_short` and `secret_not_text` as `sealSecret` does, and then nothing is stored.
 */
export async function putSecret(
  sql: Sql,
  publicKey: BrokerPublicKey,
  secret: NewSecret,
): Promise<PutOutcome> {
  const { workspaceId, name, capability } = secret;
  return transaction(sql, async (tx) => {
    // Two indexes guard this table, and an upsert waits on one only: two first puts at once would collide on the other.
    await tx`select from workspaces where id = ${workspaceId} for no key update`;
    const [holder] = await tx<{ name: string }[]>`
      select name from secrets
      where workspace_id = ${workspaceId} and capability = ${capability} and deleted_at is null and name <> ${name}`;
    if (holder !== undefined) return { kind: "capability_taken", name: holder.name };

    const [row] = await tx<{ id: string; version: number }[]>`
      insert into secrets as s (id, workspace_id, name, capability, current_version)
      values (${randomUUID()}, ${workspaceId}, ${name}, ${capability}, 1)
      on conflict (workspace_id, name) do update
        set capability = excluded.capability, current_version = s.current_version + 1, deleted_at = null
      returning id, current_version as version`;
    if (row === undefined) throw new Error(`Storing the secret ${name} returned no row.`);

    const { id, version } = row;
    const sealed = sealSecret(
      publicKey,
      { id, name, scope: workspaceId, capability, version },
      secret.value,
    );
    await tx`
      insert into secret_versions
        (secret_id, version, key_id, ephemeral_public_key, sealed_data_key, data_key_nonce, nonce, ciphertext, created_by)
      values
        (${id}, ${version}, ${sealed.keyId}, ${sealed.ephemeralPublicKey}, ${sealed.sealedDataKey},
         ${sealed.dataKeyNonce}, ${sealed.nonce}, ${sealed.ciphertext}, ${secret.createdBy ?? null})`;
    return { kind: "stored", id, version };
  });
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
  const [row] = await sql<(SecretIdentity & SealedSecret)[]>`
    select s.id, s.name, s.workspace_id as scope, s.capability, v.version, v.key_id as "keyId",
           v.ephemeral_public_key as "ephemeralPublicKey", v.sealed_data_key as "sealedDataKey",
           v.data_key_nonce as "dataKeyNonce", v.nonce, v.ciphertext
    from secrets s
    join secret_versions v on v.secret_id = s.id and v.version = s.current_version
    where s.workspace_id = ${workspaceId} and s.capability = ${capability} and s.deleted_at is null`;
  if (row === undefined) return undefined;
  const { id, name, scope, version, ...sealed } = row;
  return { identity: { id, name, scope, capability: row.capability, version }, sealed };
}
