import type { Queryable } from "@countersign/db/connect.ts";
import { z } from "zod";

const body = z.object({ details: z.array(z.string()) });

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
