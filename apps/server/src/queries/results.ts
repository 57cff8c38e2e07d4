import type { Queryable } from "@countersign/db/connect.ts";
import { isClosedTo } from "../closed-runs.ts";
import { parseExact } from "@countersign/engine/exact-text.ts";

/** A call's result, or why there is none. */
export type FoundResult =
  /** Too long for the model: kept under its hash. `size` is in bytes. */
  | { readonly kind: "stored"; readonly hash: string; readonly size: number; readonly mediaType: string }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "none_yet"; readonly status: string }
  | { readonly kind: "no_call" | "no_run" | "closed" };

interface Row {
  readonly isGuarded: boolean;
  readonly id: string | null;
  readonly status: string;
  readonly result: string | null;
  readonly hash: string | null;
  readonly size: number | null;
  readonly mediaType: string | null;
}

/** What a call came to, whole: as text, or where it is kept. */
export async function readResult(
  sql: Queryable,
  asked: {
    readonly workspaceId: string;
    readonly userId: string;
    readonly runId: string;
    readonly callId: string;
  },
): Promise<FoundResult> {
  const { workspaceId, runId, callId } = asked;
  const [row] = await sql<Row[]>`
    select c.id, c.status, c.result, b.hash, b.size, b.media_type as "mediaType",
           exists (select from run_reads x where x.run_id = r.root_id) as "isGuarded"
      from runs r
      left join tool_calls c on c.run_id = r.id and c.id = ${callId}
      left join blobs b on b.workspace_id = r.workspace_id and b.hash = c.result_blob
     where r.workspace_id = ${workspaceId} and r.id = ${runId}`;
  if (row === undefined) return { kind: "no_run" };
  if (await isClosedTo(sql, asked, { id: runId, isGuarded: row.isGuarded })) return { kind: "closed" };
  const { id, status, result, hash, size, mediaType } = row;
  if (id === null) return { kind: "no_call" };
  if (hash !== null) return { kind: "stored", hash, size: size ?? 0, mediaType: mediaType ?? "text/plain" };
  if (result === null) return { kind: "none_yet", status };
  const value = parseExact(result);
  return { kind: "text", text: typeof value === "string" ? value : result };
}
