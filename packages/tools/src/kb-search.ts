import { defineTool } from "@countersign/engine/tool.ts";
import { searchPages } from "@countersign/kb/search-pages.ts";
import { z } from "zod";
import { readerOf } from "./kb-writer.ts";

const schema = z.strictObject({
  q: z.string().min(1).max(1_000).describe('Words in any order; those in "double quotes" one after the other'),
  kinds: z
    .array(z.enum(["page", "bullet", "heading", "paragraph", "table", "fence"]))
    .min(1)
    .max(6)
    .optional()
    .describe("Only hits of these kinds; all unless given"),
});

/** The ten best hits for some words, pages and their parts, with the lists that found them. */
export const kbSearch = defineTool<z.infer<typeof schema>>({
  name: "kb.search",
  description:
    "Finds the ten best pages and parts of pages for some words, by name and by text. For every place that holds a text use kb.grep.",
  schema,
  tier: "read",
  needsApproval: false,
  effect: "read-only",
  async execute(query, context) {
    const result = await context.read((tx) => searchPages(readerOf(context, tx), query));
    if (result.kind === "refused") return { kind: "failed", code: "invalid_args", content: result.reason };
    if (result.hits.length === 0) {
      return { kind: "done", content: "No hits. Try fewer or other words, or kb.grep for a part of a word." };
    }
    const lines = result.hits.map(({ kind, pageTitle, pageId, nodeId, excerpt, lists }, n) => {
      const found = `[found by ${lists.join(", ")}]`;
      if (nodeId === null) return `${n + 1}. page ${JSON.stringify(pageTitle)} (id ${pageId}) ${found}`;
      return `${n + 1}. ${kind} ${nodeId} of ${JSON.stringify(pageTitle)} ${found}: ${excerpt.replaceAll(/(?<!\s)\s*\n\s*/g, " ⏎ ")}`;
    });
    return { kind: "done", content: lines.join("\n") };
  },
});
