import { Refusal } from "@countersign/db/refusal.ts";

/** The tools of this configuration cannot be used; the message names each problem and what to do. */
export class ToolsError extends Refusal {
  override readonly name = "ToolsError";
}
