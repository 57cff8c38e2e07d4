import { setTimeout as pause } from "node:timers/promises";
import type { Queryable, Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { appendAudit } from "./append-audit.ts";
import type { BrokerPublicKey } from "./public-key.ts";
import { lockSecretsOf, storeVersion } from "./secrets.ts";

/** A secret that has run out, as the caller holds it. */
export interface StaleSecret {
  readonly workspaceId: string;
  readonly capability: string;
  /** The version that no longer works. */
  readonly version: number;
}

export interface RefreshOptions {
  /** How long a refresh belongs to whoever began it; also how long others wait for it. */
  readonly limitMs?: number;
  readonly pollMs?: number;
  readonly signal?: AbortSignal;
}

export type RefreshOutcome =
  /** A newer version is stored, from this caller's refresh or somebody else's: open the capability again. */
  { readonly kind: "newer"; readonly isOurs: boolean } | { readonly kind: "secret_missing" | "timeout" };

/**
 * Afterwards the secret has a newer version than the stale one. `refresh` asks the provider for the new value, in one
 * process at a time and with no transaction open; the others wait for its version. Where somebody set the secret
 * meanwhile, theirs stays. Rejects with what `refresh` rejects with, and then the next caller may try at once.
 */
export async function refreshSecret(
  sql: Sql,
  publicKey: BrokerPublicKey,
  stale: StaleSecret,
  refresh: () => Promise<string>,
  options: RefreshOptions = {},
): Promise<RefreshOutcome> {
  const { limitMs = 30_000, pollMs = 50, signal } = options;
  const deadline = performance.now() + limitMs;
  for (;;) {
    const turn = await takeTurn(sql, stale, limitMs);
    if (turn.kind === "ours") return runRefresh(sql, publicKey, stale, turn, refresh);
    if (turn.kind === "newer") return { kind: "newer", isOurs: false };
    if (turn.kind === "secret_missing") return { kind: "secret_missing" };
    if (performance.now() >= deadline) return { kind: "timeout" };
    await pause(pollMs, undefined, signal === undefined ? {} : { signal });
  }
}

type Turn =
  | { readonly kind: "ours"; readonly name: string; readonly until: string }
  | { readonly kind: "newer" | "taken" | "secret_missing" };

async function takeTurn(sql: Queryable, stale: StaleSecret, limitMs: number): Promise<Turn> {
  const { workspaceId, capability, version } = stale;
  const [mine] = await sql<{ name: string; until: string }[]>`
    update secrets
       set refreshing_until = clock_timestamp() + ${limitMs}::float8 * interval '1 millisecond'
     where workspace_id = ${workspaceId} and capability = ${capability} and deleted_at is null
       and current_version = ${version} and (refreshing_until is null or refreshing_until <= clock_timestamp())
    returning name, refreshing_until::text as until`;
  if (mine !== undefined) return { kind: "ours", ...mine };
  const [row] = await sql<{ version: number }[]>`
    select current_version as version from secrets
     where workspace_id = ${workspaceId} and capability = ${capability} and deleted_at is null`;
  if (row === undefined) return { kind: "secret_missing" };
  return { kind: row.version > version ? "newer" : "taken" };
}

async function runRefresh(
  sql: Sql,
  publicKey: BrokerPublicKey,
  stale: StaleSecret,
  turn: { readonly name: string; readonly until: string },
  refresh: () => Promise<string>,
): Promise<RefreshOutcome> {
  const { workspaceId, capability, version } = stale;
  try {
    const value = await refresh();
    return await transaction(sql, async (tx) => {
      await lockSecretsOf(tx, workspaceId);
      const [row] = await tx<{ version: number }[]>`
        select current_version as version from secrets
         where workspace_id = ${workspaceId} and capability = ${capability} and deleted_at is null`;
      if (row === undefined) return { kind: "secret_missing" };
      if (row.version !== version) return { kind: "newer", isOurs: false };
      const stored = await storeVersion(tx, publicKey, { workspaceId, name: turn.name, capability, value });
      await appendAudit(tx, {
        workspaceId,
        actor: "system",
        action: "secret.refreshed",
        subject: turn.name,
        details: { capability, version: stored.version },
      });
      return { kind: "newer", isOurs: true };
    });
  } catch (error) {
    await giveTurnBack(sql, stale, turn.until);
    throw error;
  }
}

async function giveTurnBack(sql: Queryable, stale: StaleSecret, until: string): Promise<void> {
  await sql`
    update secrets set refreshing_until = null
     where workspace_id = ${stale.workspaceId} and capability = ${stale.capability}
       and refreshing_until = ${until}::text::timestamptz`;
}
