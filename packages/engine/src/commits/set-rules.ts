import type { Queryable } from "@countersign/db/connect.ts";
import type { Mode, RuleEntry, RuleTarget } from "@countersign/gate/rule.ts";
import { v7 as uuidv7 } from "uuid";
import { targetOf } from "../stored-policy.ts";
import type { Author, Scope } from "./kill-scope.ts";

/** A change of what one scope says of one target. */
export interface RuleChange {
  readonly target: RuleTarget;
  /** Undefined takes the rule away. */
  readonly rule:
    | {
        readonly mode: Mode;
        readonly entries?: readonly RuleEntry[] | undefined;
        readonly locked?: boolean | undefined;
        readonly expiresAt?: Date | undefined;
      }
    | undefined;
  /** The names of the tools that the target covers; undefined for every tool. */
  readonly covers: readonly string[] | undefined;
  /** The version of the rule that was seen there, 0 for none; undefined writes over whatever is there. */
  readonly seenVersion?: number | undefined;
}

/** What became of one change. `waiting`: how many open approvals it touches, 1,001 for more than 1,000. */
export interface ChangedRule {
  readonly kind: "written" | "cleared" | "unchanged";
  readonly target: RuleTarget;
  readonly id: string | undefined;
  readonly version: number;
  readonly waiting: number;
}

export type SetRulesOutcome =
  | { readonly kind: "set"; readonly changes: readonly ChangedRule[] }
  /** Somebody changed these rules since they were seen, so nothing was changed. */
  | { readonly kind: "stale"; readonly targets: readonly { readonly target: RuleTarget; readonly version: number }[] }
  | { readonly kind: "not_found" };

interface Row {
  readonly outcome: ChangedRule["kind"] | "stale" | "not_found";
  readonly target_kind: RuleTarget["kind"];
  readonly target_name: string;
  readonly id: string | null;
  readonly version: number | null;
  readonly waiting: number;
}

const statement = `
  select * from set_rules($1::text, $2::uuid, $3::uuid, $4::uuid, $5::text, $6::uuid[], $7::text[], $8::text[], $9::text[],
                          $10::int[]::boolean[], $11::text[], $12::text[]::timestamptz[], $13::text[], $14::int[])`;

/**
 * Afterwards the scope says of each target what was asked, its policy version has moved, and workers judge the open
 * approvals of those tools again; or nothing has changed, and the outcome says which rules were not as seen.
 */
export async function setRules(
  sql: Queryable,
  scope: Scope,
  author: Author,
  changes: readonly RuleChange[],
): Promise<SetRulesOutcome> {
  if (changes.length === 0) return { kind: "set", changes: [] };
  const rows = await sql.unsafe<Row[]>(
    statement,
    [
      scope.scope,
      scope.scopeId,
      scope.workspaceId ?? null,
      author.userId ?? null,
      author.way,
      changes.map(() => uuidv7()),
      changes.map(({ target }) => target.kind),
      changes.map(({ target }) => nameOf(target)),
      changes.map(({ rule }) => rule?.mode ?? null),
      changes.map(({ rule }) => Number(rule?.locked === true)),
      changes.map(({ rule }) => (rule?.entries === undefined ? null : JSON.stringify(rule.entries))),
      changes.map(({ rule }) => rule?.expiresAt?.toISOString() ?? null),
      changes.map(({ covers }) => covers?.join(",") ?? null),
      changes.map(({ seenVersion }) => seenVersion ?? null),
    ],
    { prepare: true },
  );
  if (rows.some(({ outcome }) => outcome === "not_found")) return { kind: "not_found" };
  const stale = rows.filter(({ outcome }) => outcome === "stale");
  if (stale.length > 0) {
    return {
      kind: "stale",
      targets: stale.map((row) => ({ target: targetOf(row.target_kind, row.target_name), version: row.version ?? 0 })),
    };
  }
  return {
    kind: "set",
    changes: rows.map((row) => ({
      kind: row.outcome as ChangedRule["kind"],
      target: targetOf(row.target_kind, row.target_name),
      id: row.id ?? undefined,
      version: row.version ?? 0,
      waiting: row.waiting,
    })),
  };
}

function nameOf(target: RuleTarget): string {
  return target.kind === "everything" ? "" : target.name;
}
