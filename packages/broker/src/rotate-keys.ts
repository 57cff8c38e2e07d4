import type { Queryable, Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { appendAudit } from "./append-audit.ts";
import { BrokerError } from "./broker-error.ts";
import type { Keyring } from "./keyring.ts";
import { openSecret } from "./open.ts";
import type { BrokerPublicKey } from "./public-key.ts";
import { sealSecret } from "./seal.ts";
import { sealedColumns, sealedRowOf, shareKey, type SealedColumns } from "./secrets.ts";

/** A version that stays sealed to its old key. */
export interface UnsealedVersion {
  readonly workspaceId: string;
  readonly name: string;
  readonly version: number;
  readonly keyId: string;
  readonly code: BrokerError["code"];
}

export interface ResealOutcome {
  readonly resealed: number;
  /** Rows that the ring does not open; their keys cannot be retired until they are set again or pruned. */
  readonly unreadable: readonly UnsealedVersion[];
}

/**
 * Seals every stored version to `to`, earlier versions and deleted secrets too: each row is one transaction with its audit
 * row, so it can be broken off and called again, and any number of processes may do it at once. Versions keep their
 * number, so nothing that is open is disturbed. What is stored under an old key meanwhile is taken as well.
 */
export async function resealSecrets(sql: Sql, keyring: Keyring, to: BrokerPublicKey): Promise<ResealOutcome> {
  let resealed = 0;
  for (;;) {
    const pass = await resealOnce(sql, keyring, to);
    resealed += pass.resealed;
    // A secret may have been stored under the old key behind the pass.
    if (pass.resealed === 0) return { resealed, unreadable: pass.unreadable };
  }
}

async function resealOnce(sql: Sql, keyring: Keyring, to: BrokerPublicKey): Promise<ResealOutcome> {
  const unreadable: UnsealedVersion[] = [];
  let resealed = 0;
  let after = { id: "00000000-0000-0000-0000-000000000000", version: 0 };
  for (;;) {
    const [next] = await readNext(sql, to.keyId, after);
    if (next === undefined) return { resealed, unreadable };
    after = { id: next.id, version: next.version };
    const outcome = await resealOne(sql, keyring, to, next);
    if (outcome === "resealed") resealed += 1;
    if (typeof outcome === "object") unreadable.push(outcome);
  }
}

async function readNext(
  sql: Queryable,
  keyId: string,
  after: { readonly id: string; readonly version: number },
): Promise<SealedColumns[]> {
  return sql.unsafe<SealedColumns[]>(
    `select ${sealedColumns("v.capability")}
       from secret_versions v
       join secrets s on s.id = v.secret_id
      where v.key_id <> $1 and (v.secret_id, v.version) > ($2::uuid, $3::int)
      order by v.secret_id, v.version
      limit 1`,
    [keyId, after.id, after.version],
    { prepare: true },
  );
}

async function resealOne(
  sql: Sql,
  keyring: Keyring,
  to: BrokerPublicKey,
  row: SealedColumns,
): Promise<"resealed" | "moved" | UnsealedVersion> {
  const { identity, sealed } = sealedRowOf(row);
  const named = { workspaceId: identity.scope, name: identity.name, version: identity.version, keyId: sealed.keyId };
  let value: string;
  try {
    value = openSecret(keyring, identity, sealed);
  } catch (error) {
    if (error instanceof BrokerError) return { ...named, code: error.code };
    throw error;
  }
  const anew = sealSecret(to, identity, value);
  return transaction(sql, async (tx) => {
    await shareKey(tx, to.keyId);
    // The old ciphertext is part of the condition: what another process sealed meanwhile stays as it is.
    const moved = await tx`
      update secret_versions
         set key_id = ${anew.keyId}, ephemeral_public_key = ${anew.ephemeralPublicKey},
             sealed_data_key = ${anew.sealedDataKey}, data_key_nonce = ${anew.dataKeyNonce},
             nonce = ${anew.nonce}, ciphertext = ${anew.ciphertext}
       where secret_id = ${identity.id} and version = ${identity.version}
         and key_id = ${sealed.keyId} and ciphertext = ${sealed.ciphertext}`;
    if (moved.count === 0) return "moved";
    await appendAudit(tx, {
      workspaceId: identity.scope,
      actor: "system",
      action: "secret.resealed",
      subject: identity.name,
      details: { version: identity.version, from: sealed.keyId, to: to.keyId },
    });
    return "resealed";
  });
}

export type RetireOutcome =
  | { readonly kind: "retired" | "already" | "not_found" }
  /** `references`: how many versions are still sealed to it. */
  | { readonly kind: "in_use"; readonly references: number };

/** The workspace that stands for the whole installation in the audit. */
const everywhere = "00000000-0000-0000-0000-000000000000";

/**
 * Afterwards nothing can be sealed to the key any more, and nothing is: it may be destroyed (`removeEarlierKey`). Refused
 * while a single version is sealed to it. A secret that is being stored under it meanwhile is either counted or refused.
 */
export async function retireKey(sql: Sql, keyId: string): Promise<RetireOutcome> {
  return transaction(sql, async (tx) => {
    const [key] = await tx<{ is_retired: boolean }[]>`
      select retired_at is not null as is_retired from master_keys where key_id = ${keyId} for no key update`;
    if (key === undefined) return { kind: "not_found" };
    if (key.is_retired) return { kind: "already" };
    const [count] = await tx<{ references: number }[]>`
      select count(*)::int as "references" from secret_versions where key_id = ${keyId}`;
    const references = count?.references ?? 0;
    if (references > 0) return { kind: "in_use", references };
    await tx`update master_keys set retired_at = clock_timestamp() where key_id = ${keyId}`;
    await appendAudit(tx, { workspaceId: everywhere, actor: "system", action: "key.retired", subject: keyId });
    return { kind: "retired" };
  });
}
