import type { Queryable } from "@countersign/db/connect.ts";
import { parseExact } from "@countersign/engine/exact-text.ts";
import type { Saying } from "../shapes/runs.ts";

/** The most pieces that are put together: a turn that goes on for longer shows its end. */
const mostPieces = 4_000;

// Rows of an older turn are to be ignored, and so is what stands before the last `started`.
const pieces = `
  select r.turns as turn, d.kind, d.content
    from runs r
    left join lateral (
           select id, kind, content from deltas
            where run_id = r.id and turn = r.turns
            order by id desc limit ${mostPieces}) d on true
   where r.id = $1 and r.workspace_id = $2
   order by d.id`;

interface Piece {
  readonly turn: number;
  readonly kind: "started" | "text" | "thinking" | "tool_use" | null;
  readonly content: string | null;
}

/** What the model of a run says in the turn that is not recorded yet; undefined where the workspace has no such run. */
export async function readSaying(sql: Queryable, workspaceId: string, runId: string): Promise<Saying | undefined> {
  const rows = await sql.unsafe<Piece[]>(pieces, [runId, workspaceId], { prepare: true });
  const [first] = rows;
  if (first === undefined) return undefined;
  const told = rows.slice(rows.findLastIndex((row) => row.kind === "started") + 1);
  const textsOf = (kind: Piece["kind"]): string[] =>
    told.flatMap((row) => (row.kind === kind && row.content !== null ? [String(parseExact(row.content))] : []));
  return {
    turn: first.turn,
    text: textsOf("text").join(""),
    thinking: textsOf("thinking").join(""),
    tools: textsOf("tool_use"),
  };
}
