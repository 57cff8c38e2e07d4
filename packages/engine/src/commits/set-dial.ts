import type { Queryable } from "@countersign/db/connect.ts";
import type { ApprovalPolicy, DialLevel } from "@countersign/gate/rule.ts";
import type { Author, Scope } from "./kill-scope.ts";

/** What a scope is to say from now on; a value that is left out stays, null takes it away. */
export interface DialChange {
  readonly dial?: {
    readonly level: DialLevel;
    readonly expiresAt?: Date | undefined;
    readonly locked?: boolean;
  } | null;
  readonly approvalPolicy?: { readonly level: ApprovalPolicy; readonly locked?: boolean } | null;
  /** The policy version of the scope that was seen; undefined writes over whatever is there. */
  readonly seenVersion?: number | undefined;
}

export type SetDialOutcome =
  /** `waiting`: how many open approvals the scope has, 1,001 for more than 1,000. */
  | { readonly kind: "set"; readonly version: number; readonly waiting: number }
  | { readonly kind: "unchanged" | "stale"; readonly version: number }
  | { readonly kind: "not_found" };

const statement = `
  select * from set_dial($1::text, $2::uuid, $3::uuid, $4::uuid, $5::text, $6::int::boolean, $7::text, $8::timestamptz,
                         $9::int::boolean, $10::int::boolean, $11::text, $12::int::boolean, $13::bigint)`;

/**
 * Afterwards the scope has the dial and the approval policy that were asked for, its policy version has moved, and
 * workers judge its open approvals again; or nothing has changed and the outcome says why.
 */
export async function setDial(
  sql: Queryable,
  scope: Scope,
  author: Author,
  { dial, approvalPolicy, seenVersion }: DialChange,
): Promise<SetDialOutcome> {
  const [row] = await sql.unsafe<{ outcome: SetDialOutcome["kind"]; version: string | null; waiting: number }[]>(
    statement,
    [
      scope.scope,
      scope.scopeId,
      scope.workspaceId ?? null,
      author.userId ?? null,
      author.way,
      Number(dial !== undefined),
      dial?.level ?? null,
      dial?.expiresAt ?? null,
      Number(dial?.locked === true),
      Number(approvalPolicy !== undefined),
      approvalPolicy?.level ?? null,
      Number(approvalPolicy?.locked === true),
      seenVersion ?? null,
    ],
    { prepare: true },
  );
  if (row === undefined || row.outcome === "not_found") return { kind: "not_found" };
  const version = Number(row.version);
  return row.outcome === "set" ? { kind: "set", version, waiting: row.waiting } : { kind: row.outcome, version };
}
