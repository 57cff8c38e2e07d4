import type { Queryable } from "@countersign/db/connect.ts";
import type { Author } from "./kill-scope.ts";
import type { ToolSwitch } from "./kill-tool.ts";

/** Afterwards the rest of the policy says what becomes of the tool's calls. */
export async function liftTool(
  sql: Queryable,
  { kind, name, workspaceId, covers }: ToolSwitch,
  author: Author & { readonly userId: string },
  reason?: string,
): Promise<"lifted" | "already"> {
  const [row] = await sql.unsafe<{ outcome: "lifted" | "already" }[]>(
    "select * from lift_tool($1::text, $2::text, $3::uuid, $4::uuid, $5::text, $6::text, $7::text)",
    [kind, name, workspaceId ?? null, author.userId, author.way, reason ?? null, covers.join(",")],
    { prepare: true },
  );
  return row?.outcome ?? "already";
}
