import { createHash, timingSafeEqual } from "node:crypto";
import type { Sql, Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { appendAudit } from "./append-audit.ts";
import { BrokerError } from "./broker-error.ts";
import { recognised, type Environment, type Recognised } from "./environment.ts";
import type { Keyring } from "./keyring.ts";
import { openSecret } from "./open.ts";
import type { BrokerPublicKey } from "./public-key.ts";
import { lockSecretsOf, readSealed, storeVersion } from "./secrets.ts";

/** What became of the variables of one capability. Names only, fit for a log. */
export interface SeedReport {
  readonly capability: string;
  readonly variables: readonly string[];
  readonly outcome:
    | "seeded"
    /** A secret is stored, and it stays. */
    | "kept"
    /** A secret is stored and stays, and the environment says something else. */
    | "kept: environment differs"
    /** Somebody deleted it: only a person sets it again. */
    | "kept: deleted"
    /** Another variable that belongs to it is missing: named in `missing`. */
    | "incomplete"
    | "refused: too short"
    | "refused: not text";
  readonly missing?: readonly string[];
}

export interface SeedOptions {
  readonly workspaceId: string;
  /** With it a stored secret is compared with the variable; without, it is only said to be kept. */
  readonly keyring?: Keyring;
}

/**
 * Stores the secrets that recognised variables hold, where the workspace has none of that name or capability, live or
 * deleted; of any number of processes that boot at once, one does. Pairs count only when complete. Answers by name what
 * became of every variable that is set, one entry a capability; a value is nowhere in it.
 */
export async function seedFromEnvironment(
  sql: Sql,
  publicKey: BrokerPublicKey,
  environment: Environment,
  options: SeedOptions,
): Promise<SeedReport[]> {
  const reports: SeedReport[] = [];
  for (const secret of recognised) {
    const variables = [...secret.needs, ...secret.takes].filter((name) => isSet(environment, name));
    if (variables.length === 0) continue;
    const missing = missingOf(secret, environment);
    const report = { capability: secret.capability, variables };
    if (missing.length > 0) reports.push({ ...report, outcome: "incomplete", missing });
    else reports.push({ ...report, outcome: await seedOne(sql, publicKey, secret, environment, options) });
  }
  return reports;
}

async function seedOne(
  sql: Sql,
  publicKey: BrokerPublicKey,
  { capability, valueOf }: Recognised,
  environment: Environment,
  { workspaceId, keyring }: SeedOptions,
): Promise<SeedReport["outcome"]> {
  const value = valueOf(environment);
  try {
    return await transaction(sql, async (tx) => {
      await lockSecretsOf(tx, workspaceId);
      const known = await findKnown(tx, workspaceId, capability);
      if (known === "deleted") return "kept: deleted";
      if (known === "live") {
        const isOther = keyring !== undefined && (await differs(tx, keyring, { workspaceId, capability }, value));
        return isOther ? "kept: environment differs" : "kept";
      }
      const { version } = await storeVersion(tx, publicKey, { workspaceId, name: capability, capability, value });
      await appendAudit(tx, {
        workspaceId,
        actor: "system",
        action: "secret.seeded",
        subject: capability,
        details: { capability, version },
      });
      return "seeded";
    });
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    if (error.code === "secret_too_short") return "refused: too short";
    if (error.code === "secret_not_text") return "refused: not text";
    throw error;
  }
}

/** A live secret of the name or for the capability counts before a deleted one. */
async function findKnown(tx: Tx, workspaceId: string, capability: string): Promise<"live" | "deleted" | undefined> {
  const [row] = await tx<{ is_deleted: boolean }[]>`
    select bool_and(deleted_at is not null) as is_deleted
    from secrets where workspace_id = ${workspaceId} and (capability = ${capability} or name = ${capability})
    having count(*) > 0`;
  if (row === undefined) return undefined;
  return row.is_deleted ? "deleted" : "live";
}

async function differs(
  tx: Tx,
  keyring: Keyring,
  place: { readonly workspaceId: string; readonly capability: string },
  value: string,
): Promise<boolean> {
  const row = await readSealed(tx, place);
  // A live secret of this name that serves something else is not what the variable would be.
  if (row === undefined) return true;
  try {
    return !timingSafeEqual(digest(openSecret(keyring, row.identity, row.sealed)), digest(value));
  } catch (error) {
    // Rows that do not open are named by the boot check; here it only matters that the variable is not what is stored.
    if (error instanceof BrokerError) return true;
    throw error;
  }
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function missingOf({ needs, together = [] }: Recognised, environment: Environment): string[] {
  const some = together.some((name) => isSet(environment, name));
  const wanted = some ? [...needs, ...together] : needs;
  return wanted.filter((name) => !isSet(environment, name));
}

function isSet(environment: Environment, name: string): boolean {
  const value = environment[name];
  return value !== undefined && value !== "";
}
