import { defineTool } from "@countersign/engine/tool.ts";
import { createPage } from "@countersign/kb/create-page.ts";
import { z } from "zod";
import { headOf } from "./kb-head.ts";
import { namePage, writerOf } from "./kb-writer.ts";
import { storableLine, storableText } from "./plain-text.ts";

const schema = z.strictObject({
  title: storableLine(200),
  dir: storableLine(300).optional().describe("Directories joined by /, such as projects/alpha; the top unless given"),
  okf: storableText(200_000).optional().describe("What the page holds, in Markdown; nothing unless given"),
});

/** Creates a page; a title that is taken is a failed result that names the page. */
export const kbCreate = defineTool<z.infer<typeof schema>>({
  name: "kb.create",
  description:
    "Creates a page in the knowledge base, empty or with what it shall hold; its directory is made where it is missing.",
  schema,
  tier: "write",
  risk: "low",
  needsApproval: false,
  effect: "transactional",
  async execute({ title, dir, okf }, context) {
    const result = await createPage(writerOf(context), { title, dir, okf });
    switch (result.kind) {
      case "created":
        return {
          kind: "done",
          content: [
            `${headOf(result.page)}\nThe page is new, with ${result.nodeCount} nodes.`,
            ...result.warnings,
          ].join("\n"),
        };
      case "exists":
        return {
          kind: "failed",
          content: `Nothing was created: there already is the page ${namePage(result.page)}. Read it with kb.read or add to it with kb.append, or choose another title.`,
        };
      case "refused":
        return {
          kind: "failed",
          code: "invalid_args",
          content: `Nothing was created. ${result.reason}`,
        };
    }
  },
});
