import type { Queryable } from "@countersign/db/connect.ts";
import type { Author, Scope } from "./kill-scope.ts";

/** A rule to take back, by its id and the version that was seen. */
export interface RevokedRule {
  readonly id: string;
  readonly version: number;
  /** The names of the tools that its target covers; undefined for every tool. */
  readonly covers: readonly string[] | undefined;
}

/** What became of one rule. `waiting`: how many open approvals it touches, 1,001 for more than 1,000. */
export type RuleRevocation =
  | { readonly kind: "revoked"; readonly id: string; readonly version: number; readonly waiting: number }
  | { readonly kind: "already" | "stale"; readonly id: string; readonly version: number }
  | { readonly kind: "not_found"; readonly id: string };

export type RevokeRulesOutcome =
  | { readonly kind: "done"; readonly rules: readonly RuleRevocation[] }
  | { readonly kind: "not_found" };

const statement = `
  select * from revoke_rules($1::text, $2::uuid, $3::uuid, $4::uuid, $5::text, $6::text, $7::uuid[], $8::int[], $9::text[])`;

/**
 * Afterwards the named rules of the scope count no more, or, for `remembered`, none that a decision left there; where one
 * did, its policy version has moved and workers judge the open approvals of its tools again. Each says what became of it.
 */
export async function revokeRules(
  sql: Queryable,
  scope: Scope,
  author: Author & { readonly userId: string },
  which: readonly RevokedRule[] | "remembered",
  reason: string | undefined,
): Promise<RevokeRulesOutcome> {
  const named = which === "remembered" ? undefined : which;
  const rows = await sql.unsafe<
    { outcome: RuleRevocation["kind"]; id: string | null; version: number | null; waiting: number }[]
  >(
    statement,
    [
      scope.scope,
      scope.scopeId,
      scope.workspaceId ?? null,
      author.userId,
      author.way,
      reason ?? null,
      named?.map(({ id }) => id) ?? null,
      named?.map(({ version }) => version) ?? null,
      named?.map(({ covers }) => covers?.join(",") ?? null) ?? null,
    ],
    { prepare: true },
  );
  if (rows.some(({ outcome, id }) => outcome === "not_found" && id === null)) return { kind: "not_found" };
  return {
    kind: "done",
    rules: rows.map(({ outcome: kind, id, version, waiting }) => {
      const told = { id: id ?? "", version: version ?? 0 };
      return kind === "revoked" ? { kind, ...told, waiting } : { kind, ...told };
    }),
  };
}
