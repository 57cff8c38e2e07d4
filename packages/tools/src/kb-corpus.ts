import { defineTool } from "@countersign/engine/tool.ts";
import { readCorpus } from "@countersign/kb/read-corpus.ts";
import { z } from "zod";
import { readerOf } from "./kb-writer.ts";

const mostChars = 200_000;
const schema = z.strictObject({
  maxChars: z.int().min(1).max(mostChars).optional().describe("How much to show at most; 20,000 unless given"),
});

/** Every page by title, up to a bound. */
export const kbCorpus = defineTool<z.infer<typeof schema>>({
  name: "kb.corpus",
  description: "Shows the text of all pages of the knowledge base one after the other, by title, up to a bound.",
  schema,
  tier: "read",
  needsApproval: false,
  effect: "read-only",
  async execute({ maxChars = 20_000 }, context) {
    const corpus = await context.read((tx) => readCorpus(readerOf(context, tx), maxChars));
    const end =
      corpus.omitted === 0
        ? `All ${corpus.pageCount} pages are shown.`
        : `Truncated: ${corpus.omitted} more pages are not shown. Raise maxChars (at most ${mostChars}), or use kb.search.`;
    return { kind: "done", content: `${corpus.text}${end}` };
  },
});
