import type { Queryable } from "@countersign/db/connect.ts";
import { z } from "zod";
import type { CallOnCard } from "./card.ts";

const body = z.object({ details: z.array(z.string()) });
const shownProposal = z.object({
  message: z.string().default(""),
  preview: z.string().optional(),
  preconditions: z
    .array(z.object({ kind: z.enum(["file", "page", "script"]), name: z.string(), hash: z.string() }))
    .default([]),
});
const shownOptions = z.object({
  options: z.array(z.object({ id: z.string(), label: z.string(), detail: z.string().exactOptional() })).default([]),
  narration: z.string().optional(),
});

/** What the card of an approval showed beside the gate's reasons, for another card of the same call. */
export async function readShownCard(
  sql: Queryable,
  approvalId: string,
): Promise<Pick<CallOnCard, "proposal" | "options" | "narration">> {
  const [row] = await sql<{ card: string }[]>`select card from approvals where id = ${approvalId}`;
  const card: unknown = row === undefined ? {} : JSON.parse(row.card);
  const proposal = shownProposal.safeParse(card);
  const { options, narration } = shownOptions.parse(card);
  return { options, narration, ...(proposal.success ? { proposal: proposal.data } : {}) };
}

/**
 * The lines of the card on which a person decided that a call may run, for a tool that has to make sure that it does
 * exactly that. Undefined where nobody was asked.
 */
export async function readShownDetails(sql: Queryable, callId: string): Promise<readonly string[] | undefined> {
  const [row] = await sql<{ card: string }[]>`
    select a.card from tool_calls c join approvals a on a.id = c.approval_id where c.id = ${callId}`;
  if (row === undefined) return undefined;
  return body.parse(JSON.parse(row.card)).details;
}
