import { defineTool } from "@countersign/engine/tool.ts";
import { expandDirectory } from "@countersign/kb/expand-directory.ts";
import { z } from "zod";
import { readerOf } from "./kb-writer.ts";

const schema = z.strictObject({
  directory: z.string().max(600).optional().describe("Directories joined by /; the top unless given"),
});

/** One level of directories and the pages in it. */
export const kbExpand = defineTool<z.infer<typeof schema>>({
  name: "kb.expand",
  description: "Lists one directory of the knowledge base: the directories right below it and the pages in it.",
  schema,
  tier: "read",
  needsApproval: false,
  effect: "read-only",
  async execute({ directory = "" }, context) {
    if (directory.includes("\0")) return { kind: "failed", code: "invalid_args", content: "A directory holds no NUL." };
    const level = await context.read((tx) => expandDirectory(readerOf(context, tx), directory));
    if (level === undefined) {
      return {
        kind: "failed",
        content: `There is no directory ${JSON.stringify(directory)}. Start at the top, without one.`,
      };
    }
    const { dirs, pages, totals } = level;
    const lines = [
      ...dirs.map(({ dir, pageCount }) => `${dir}/ (${pageCount} ${pageCount === 1 ? "page" : "pages"})`),
      ...pages.map(({ id, title, type }) => `${JSON.stringify(title)} (id ${id}, type ${type})`),
    ];
    const hidden = totals.dirs - dirs.length + totals.pages - pages.length;
    if (hidden > 0) lines.push(`Truncated: ${hidden} more are not shown.`);
    return { kind: "done", content: lines.length === 0 ? "The knowledge base is empty." : lines.join("\n") };
  },
});
