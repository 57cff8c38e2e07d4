import { createHash } from "node:crypto";
import type { Queryable } from "@countersign/db/connect.ts";
import { BrokerError } from "./broker-error.ts";
import type { Keyring } from "./keyring.ts";
import type { HeldValue } from "./needles.ts";
import { openSecret } from "./open.ts";
import { createScrubber, type Scrubber } from "./scrub.ts";
import { sealedColumns, sealedRowOf, type SealedColumns } from "./secrets.ts";

export interface ScrubbersOptions {
  readonly sql: Queryable;
  readonly keyring: Keyring;
  /** Reads the ring again, once for a row whose key is not in it. */
  readonly refreshKeyring?: () => Promise<void>;
  /** What the process itself holds at the moment: opened secrets, its own configuration. */
  readonly heldValues: () => readonly HeldValue[];
}

export interface Scrubbers {
  /**
   * A scrubber for everything that leaves a run: of each value it may have acquired, found again from its leases, so it
   * is the same after a restart, and of what the process holds. To be asked for anew before each use: a run acquires more.
   * With a `mark` that was given before, the run has acquired nothing since and the database is not asked; with null it
   * never did. As long as the values are the same the scrubber is the same object.
   */
  scrubberOf(runId: string, mark?: string | null): Promise<Scrubber>;
}

interface Acquired {
  readonly values: readonly HeldValue[];
  /** Whether the ring has the key of each: what does not open for want of one may open later. */
  readonly isWhole: boolean;
}

/** So many opened values, runs and built scrubbers are kept; the longest unused go first. */
const mostKept = 1_024;

/** Scrubbers that share what they opened; for the worker alone. */
export function createScrubbers({ sql, keyring, refreshKeyring, heldValues }: ScrubbersOptions): Scrubbers {
  const opened = createCache<string | undefined>();
  const acquired = createCache<Promise<Acquired>>();
  const built = createCache<Scrubber>();

  async function findAcquired(runId: string): Promise<Acquired> {
    const rows = await readAcquired(sql, runId);
    if (rows.some((row) => !keyring.has(row.keyId))) await refreshKeyring?.();
    const values = rows.flatMap((row) => {
      // By key, too: what did not open for want of its key may open later.
      const place = JSON.stringify([row.id, row.version, keyring.has(row.keyId), row.ciphertext.toString("base64")]);
      const value = opened.get(place, () => open(keyring, row));
      return value === undefined ? [] : [{ name: row.name, value }];
    });
    return { values, isWhole: rows.every((row) => keyring.has(row.keyId)) };
  }

  async function acquiredBy(runId: string, mark: string | null | undefined): Promise<readonly HeldValue[]> {
    if (mark === null) return [];
    if (mark === undefined) return (await findAcquired(runId)).values;
    const place = `${runId} ${mark}`;
    let isWhole = false;
    try {
      const found = await acquired.get(place, () => findAcquired(runId));
      isWhole = found.isWhole;
      return found.values;
    } finally {
      if (!isWhole) acquired.drop(place);
    }
  }

  async function scrubberOf(runId: string, mark?: string | null): Promise<Scrubber> {
    const values = [...(await acquiredBy(runId, mark)), ...heldValues()];
    return built.get(hashOf(values), () => createScrubber(values));
  }

  return { scrubberOf };
}

/**
 * Every version that a lease of the run may have lent: those of its capabilities that were current at some time since it
 * began, also of a secret that was deleted since.
 */
async function readAcquired(sql: Queryable, runId: string): Promise<SealedColumns[]> {
  return sql.unsafe<SealedColumns[]>(
    `select distinct ${sealedColumns("v.capability")}
       from runs r
       join capability_leases l on l.call_id in (select c.id from tool_calls c where c.run_id = r.id)
       join secrets s           on s.workspace_id = r.workspace_id
       join secret_versions v   on v.secret_id = s.id and v.capability = l.capability
      where r.id = $1::uuid
        and not exists (
              select from secret_versions w
               where w.secret_id = v.secret_id and w.version > v.version and w.created_at <= r.created_at)`,
    [runId],
    { prepare: true },
  );
}

function open(keyring: Keyring, row: SealedColumns): string | undefined {
  const { identity, sealed } = sealedRowOf(row);
  try {
    return openSecret(keyring, identity, sealed);
  } catch (error) {
    // What does not open here was lent to nobody.
    if (error instanceof BrokerError) return undefined;
    throw error;
  }
}

function hashOf(values: readonly HeldValue[]): string {
  return createHash("sha256").update(JSON.stringify(values)).digest("base64");
}

interface Cache<T> {
  get(key: string, make: () => T): T;
  drop(key: string): void;
}

/** Remembers the answers of the most recent keys. */
function createCache<T>(): Cache<T> {
  const entries = new Map<string, T>();
  return {
    get(key, make) {
      const value = entries.has(key) ? (entries.get(key) as T) : make();
      entries.delete(key);
      entries.set(key, value);
      const oldest = entries.keys().next();
      if (entries.size > mostKept && oldest.done !== true) entries.delete(oldest.value);
      return value;
    },
    drop: (key) => void entries.delete(key),
  };
}
