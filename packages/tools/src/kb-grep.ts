import { defineTool } from "@countersign/engine/tool.ts";
import { grepNodes } from "@countersign/kb/grep-nodes.ts";
import { z } from "zod";
import { readerOf } from "./kb-writer.ts";
import { onOneLine } from "./plain-text.ts";

const schema = z.strictObject({
  pattern: z.string().min(1).max(1_000),
  regex: z.boolean().optional().describe("Read the pattern as a POSIX regular expression; else it is plain text"),
  limit: z.int().min(1).max(500).optional().describe("The most matches to list, 100 unless given"),
});

/** Every node that holds a text or matches an expression, as `page › node: text` lines. */
export const kbGrep = defineTool<z.infer<typeof schema>>({
  name: "kb.grep",
  description:
    "Finds every bullet, heading and paragraph of the knowledge base that holds a text, ignoring case, and counts them all. Lists `page › node id: text`.",
  schema,
  tier: "read",
  needsApproval: false,
  effect: "read-only",
  async execute(query, context) {
    const result = await context.read((tx) => grepNodes(readerOf(context, tx), query));
    switch (result.kind) {
      case "refused":
        return { kind: "failed", code: "invalid_args", content: result.reason };
      case "timeout":
        return {
          kind: "failed",
          code: "timeout",
          content:
            "The search took longer than 1 s and was stopped. Use a longer or simpler pattern, or plain text instead of a regular expression.",
        };
      case "found": {
        const { matches, total } = result;
        const lines = matches.map(
          ({ pageTitle, nodeId, excerpt }) => `${pageTitle} › ${nodeId}: ${onOneLine(excerpt)}`,
        );
        return {
          kind: "done",
          content: [...lines, countMatches(matches.length, total)].join("\n"),
        };
      }
    }
  },
});

function countMatches(shown: number, total: number): string {
  if (total === 0) return "No matches.";
  if (shown === total) return `${total} ${total === 1 ? "match" : "matches"} in all.`;
  return `Truncated: ${shown} of ${total} matches are shown. Narrow the pattern, or raise limit (at most 500).`;
}
