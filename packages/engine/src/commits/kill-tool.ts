import type { Queryable } from "@countersign/db/connect.ts";
import type { Author } from "./kill-scope.ts";

/** The switch of a tool, or of all tools of a server. */
export interface ToolSwitch {
  readonly kind: "tool" | "server";
  readonly name: string;
  /** Undefined: in every workspace. */
  readonly workspaceId: string | undefined;
  /** The names of the tools that it reaches. */
  readonly covers: readonly string[];
}

/** Afterwards calls of the tool are denied until it is lifted; `waiting` open approvals are judged again by workers. */
export async function killTool(
  sql: Queryable,
  { kind, name, workspaceId, covers }: ToolSwitch,
  author: Author & { readonly userId: string },
  reason: string,
): Promise<{ readonly kind: "killed"; readonly waiting: number } | { readonly kind: "already" }> {
  const [row] = await sql.unsafe<{ outcome: "killed" | "already"; waiting: number }[]>(
    "select * from kill_tool($1::text, $2::text, $3::uuid, $4::uuid, $5::text, $6::text, $7::text)",
    [kind, name, workspaceId ?? null, author.userId, author.way, reason, covers.join(",")],
    { prepare: true },
  );
  return row?.outcome === "killed" ? { kind: "killed", waiting: row.waiting } : { kind: "already" };
}
