import { defineTool, type Tool } from "@countersign/engine/tool.ts";
import type { Questions } from "@countersign/kb/questions.ts";
import { type Hit, searchByAll } from "@countersign/kb/search-pages.ts";
import { z } from "zod";
import { onOneLine } from "./plain-text.ts";

const schema = z.strictObject({
  q: z.string().min(1).max(1_000).describe('Words in any order; those in "double quotes" one after the other'),
  kinds: z
    .array(z.enum(["page", "bullet", "heading", "paragraph", "table", "fence"]))
    .min(1)
    .max(6)
    .optional()
    .describe("Only hits of these kinds; all unless given"),
});

/**
 * The ten best hits for some words, pages and their parts, with the lists that found them; where `questions` are given, one
 * list more. It is the same tool with and without them: what an agent is told does not depend on the installation.
 */
export function kbSearch(questions?: Questions): Tool {
  return defineTool<z.infer<typeof schema>>({
    name: "kb.search",
    description:
      "Finds the ten best pages and parts of pages for some words, by name, by text and, where that is set up, by meaning. For every place that holds a text use kb.grep.",
    schema,
    tier: "read",
    needsApproval: false,
    effect: "read-only",
    async execute(query, { workspaceId, userId, read, shown }) {
      const result = await searchByAll({ workspaceId, userId, read, shown, questions }, query);
      if (result.kind === "refused") return { kind: "failed", code: "invalid_args", content: result.reason };
      const notes = result.leftOut.map(({ list, reason }) => `Not searched by ${list}: ${reason}.`);
      if (result.hits.length === 0) {
        const none = "No hits. Try fewer or other words, or kb.grep for a part of a word.";
        return { kind: "done", content: [none, ...notes].join("\n") };
      }
      return { kind: "done", content: [...result.hits.map(writeHit), ...notes].join("\n") };
    },
  });
}

function writeHit({ kind, pageTitle, pageId, nodeId, excerpt, lists }: Hit, n: number): string {
  const title = JSON.stringify(pageTitle);
  const what = nodeId === null ? `page ${title} (id ${pageId})` : `${kind} ${nodeId} of ${title}`;
  const text = excerpt === "" ? "" : `: ${onOneLine(excerpt)}`;
  return `${n + 1}. ${what} [found by ${lists.join(", ")}]${text}`;
}
