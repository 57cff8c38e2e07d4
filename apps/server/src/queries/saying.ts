import type { Queryable } from "@countersign/db/connect.ts";
import { parseExact } from "@countersign/engine/exact-text.ts";
import { isGuarded } from "@countersign/ops/visible.ts";
import { isClosedTo } from "../closed-runs.ts";
import type { Saying } from "../shapes/runs.ts";
import { hideInText } from "./hide-secrets.ts";

/** The most pieces that are put together: a turn that goes on for longer shows its end. */
const mostPieces = 4_000;

// Rows of an older turn are to be ignored, and so is what stands before the last `started` or `retried`.
const pieces = `
  select r.turns as turn, ${isGuarded} as "isGuarded", d.kind, d.content
    from runs r
    left join lateral (
           select id, kind, content from deltas
            where run_id = r.id and turn = r.turns
            order by id desc limit ${mostPieces}) d on true
   where r.id = $1 and r.workspace_id = $2
   order by d.id`;

interface Piece {
  readonly turn: number;
  readonly isGuarded: boolean;
  readonly kind: "started" | "retried" | "text" | "thinking" | "tool_use" | null;
  readonly content: string | null;
}

/** What the model of a run says in the turn that is not recorded yet; `closed` where the reader may not read it. */
export async function readSaying(
  sql: Queryable,
  reader: { readonly workspaceId: string; readonly userId: string },
  runId: string,
): Promise<Saying | "closed" | undefined> {
  const rows = await sql.unsafe<Piece[]>(pieces, [runId, reader.workspaceId], { prepare: true });
  const [first] = rows;
  if (first === undefined) return undefined;
  if (await isClosedTo(sql, reader, { id: runId, isGuarded: first.isGuarded })) return "closed";
  const told = rows.slice(rows.findLastIndex(({ kind }) => kind === "started" || kind === "retried") + 1);
  const trouble = told.length === 0 ? rows.findLast(({ kind }) => kind === "retried")?.content : undefined;
  const textsOf = (kind: Piece["kind"]): string[] =>
    told.flatMap((row) => (row.kind === kind && row.content !== null ? [String(parseExact(row.content))] : []));
  return {
    turn: first.turn,
    text: hideInText(textsOf("text").join("")),
    thinking: hideInText(textsOf("thinking").join("")),
    tools: textsOf("tool_use"),
    trouble: trouble == null ? null : hideInText(String(parseExact(trouble))),
  };
}
