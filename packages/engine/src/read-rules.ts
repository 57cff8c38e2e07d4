import type { Queryable } from "@countersign/db/connect.ts";
import type { Mode, RuleEntry, RuleTarget } from "@countersign/gate/rule.ts";
import { targetOf } from "./stored-policy.ts";

/** A rule that somebody wrote, as it is stored. */
export interface WrittenRule {
  readonly id: string;
  readonly target: RuleTarget;
  readonly mode: Mode;
  readonly entries?: readonly RuleEntry[];
  readonly locked?: true;
  readonly expiresAt?: Date;
  /** By the database's clock, which everything expires by. */
  readonly isOver: boolean;
  readonly version: number;
}

interface Row {
  readonly id: string;
  readonly target_kind: RuleTarget["kind"];
  readonly target_name: string;
  readonly mode: Mode;
  readonly entries: readonly RuleEntry[] | null;
  readonly is_locked: boolean;
  readonly expires_at: Date | null;
  readonly is_over: boolean;
  readonly version: number;
}

/** The rules of one scope that were written, expired ones too, by target; what decisions left there is left out. */
export async function readWrittenRules(sql: Queryable, scopeId: string): Promise<WrittenRule[]> {
  const rows = await sql.unsafe<Row[]>(
    `select id, target_kind, target_name, mode, entries, is_locked, expires_at, version,
            coalesce(expires_at <= clock_timestamp(), false) as is_over
       from rules
      where scope_id = $1::uuid and revoked_at is null and not is_remembered
      order by target_kind, target_name`,
    [scopeId],
    { prepare: true },
  );
  return rows.map(({ id, target_kind, target_name, mode, entries, is_locked, expires_at, is_over, version }) => ({
    id,
    target: targetOf(target_kind, target_name),
    mode,
    version,
    isOver: is_over,
    ...(entries === null ? {} : { entries }),
    ...(is_locked ? { locked: true as const } : {}),
    ...(expires_at === null ? {} : { expiresAt: expires_at }),
  }));
}
