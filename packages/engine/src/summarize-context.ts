import { z } from "zod";
import { defineTool } from "./tool.ts";

const schema = z.strictObject({
  focus: z.string().max(2_000).optional().describe("What the summary must not lose"),
});

/** The tool's name, by which a turn finds that it was asked for. */
export const summarizeContextName = "summarize_context";

/** What the agent asks a summary to keep, from the arguments that its call is recorded with. */
export function focusOf(args: string): string | undefined {
  return schema.parse(JSON.parse(args)).focus;
}

/**
 * Lets an agent have its own conversation summarized. The tool only leaves word: its recorded call is what the next turn
 * acts on, before the model is asked again, so a crash in between loses nothing.
 */
export const summarizeContext = defineTool<z.infer<typeof schema>>({
  name: summarizeContextName,
  description:
    "Has the older part of this conversation replaced by a summary before your next turn, to make room. Use it when a stretch of work is done and its details are not needed any more.",
  schema,
  tier: "read",
  risk: "low",
  needsApproval: false,
  effect: "read-only",
  execute: async () => ({ kind: "done", content: "what came before this turn is summarized now" }),
});
