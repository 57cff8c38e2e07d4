import { defineTool } from "@countersign/engine/tool.ts";
import { createPage } from "@countersign/kb/create-page.ts";
import { z } from "zod";
import { namePage, writerOf } from "./kb-writer.ts";
import { storableLine } from "./plain-text.ts";

const schema = z.strictObject({
  title: storableLine(200),
  dir: storableLine(300).optional().describe("Directories joined by /, such as projects/alpha; the top unless given"),
});

/** Creates an empty page; a title that is taken is a failed result that names the page. */
export const kbCreate = defineTool<z.infer<typeof schema>>({
  name: "kb.create",
  description:
    "Creates an empty page in the knowledge base; its directory is made where it is missing. Fill it with kb.append.",
  schema,
  tier: "write",
  risk: "low",
  needsApproval: false,
  effect: "transactional",
  async execute({ title, dir }, context) {
    const result = await createPage(writerOf(context), { title, dir });
    switch (result.kind) {
      case "created":
        return {
          kind: "done",
          content: `Created page ${namePage(result.page)}, revision ${result.page.revision}.`,
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
