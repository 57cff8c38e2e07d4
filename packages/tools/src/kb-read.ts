import { defineTool } from "@countersign/engine/tool.ts";
import { lookupPage } from "@countersign/kb/lookup.ts";
import { readPage } from "@countersign/kb/read-page.ts";
import { z } from "zod";
import { explainLookup } from "./kb-writer.ts";
import { storableLine } from "./plain-text.ts";

const schema = z.strictObject({ page: storableLine(200).describe("The page's title or id") });

/** The whole page as Markdown, every bullet with its id. */
export const kbRead = defineTool<z.infer<typeof schema>>({
  name: "kb.read",
  description:
    "Reads a page of the knowledge base as Markdown. Every bullet ends its first line with its id as a comment, <!--id-->.",
  schema,
  tier: "read",
  needsApproval: false,
  effect: "read-only",
  execute({ page: asked }, context) {
    return context.read(async (tx) => {
      const reader = { tx, workspaceId: context.workspaceId };
      const found = await lookupPage(reader, asked);
      if (found.kind !== "found") return { kind: "failed", content: explainLookup(asked, found) };
      const { id, title, dir } = found.page;
      const page = await readPage(reader, id, { withIds: true });
      if (page === undefined) return { kind: "failed", content: `The page "${title}" was removed just now.` };
      const head = [`title: ${title}`, `id: ${id}`, `dir: ${dir === "" ? "(top)" : dir}`, `revision: ${page.revision}`];
      return { kind: "done", content: `${head.join("\n")}\n\n${page.markdown || "(the page is empty)"}` };
    });
  },
});
