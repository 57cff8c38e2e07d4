import { defineTool } from "@countersign/engine/tool.ts";
import { appendBullet } from "@countersign/kb/append-bullet.ts";
import { z } from "zod";
import { headOf, partOf } from "./kb-head.ts";
import { explainForbidden, explainLookup, namePage, writerOf } from "./kb-writer.ts";
import { storableLine, storableText } from "./plain-text.ts";

const schema = z.strictObject({
  page: storableLine(200).describe("The page's title or id"),
  text: storableText(20_000).describe(
    "Markdown of one bullet, without its own dash; further lines belong to the bullet",
  ),
  parent: z
    .uuid()
    .optional()
    .describe("The id of the bullet or heading to put it below; else it goes last on the page"),
});

/** Adds one bullet at the end of a page or of a node's children. */
export const kbAppend = defineTool<z.infer<typeof schema>>({
  name: "kb.append",
  description: "Adds one bullet at the end of a page of the knowledge base, or below one of its bullets or headings.",
  schema,
  tier: "write",
  risk: "low",
  needsApproval: false,
  effect: "transactional",
  async execute({ page, text, parent }, context) {
    const result = await appendBullet(writerOf(context), {
      page,
      text,
      parent: parent?.toLowerCase(),
    });
    switch (result.kind) {
      case "appended":
        return {
          kind: "done",
          content: `${headOf(result.page, partOf(result.nodeId))}\nAdded bullet ${result.nodeId} to page ${namePage(result.page)}, now at revision ${result.page.revision}.`,
        };
      case "forbidden":
        return { kind: "failed", content: `Nothing was added. ${explainForbidden(result.page)}` };
      case "refused":
        return {
          kind: "failed",
          code: "invalid_args",
          content: `Nothing was added. ${result.reason}`,
        };
      default:
        return { kind: "failed", content: `Nothing was added. ${explainLookup(page, result)}` };
    }
  },
});
