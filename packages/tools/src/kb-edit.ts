import { defineTool, type ToolResult } from "@countersign/engine/tool.ts";
import { applyOkf, createFromOkf } from "@countersign/kb/apply-okf.ts";
import { lookupPage } from "@countersign/kb/lookup.ts";
import type { PastPage } from "@countersign/kb/page-history.ts";
import { z } from "zod";
import { tellEdit } from "./kb-edit-result.ts";
import { readSeenPage, type SeenPage } from "./kb-seen.ts";
import { namePage, writerOf } from "./kb-writer.ts";
import { storableLine, storableText } from "./plain-text.ts";

const schema = z.strictObject({
  page: storableLine(200).describe("The page's title or id; a title that no page has makes a new page"),
  okf: storableText(200_000).describe(
    "The whole page as it shall be, in Markdown. Keep the ids <!--…--> of the bullets that stay; new ones need none.",
  ),
  revision: z.int().min(1).optional().describe("The revision that this run read; the one it saw last unless given"),
});

/** Replaces a page by what it shall be; what is as it was stays as it is. */
export const kbEdit = defineTool<z.infer<typeof schema>>({
  name: "kb.edit",
  description:
    "Changes a page of the knowledge base: send the whole page as it shall be. Bullets that stay keep their ids. Where others changed the page since it was read, both changes are put together, or nothing is written and you are told.",
  schema,
  tier: "write",
  risk: "low",
  needsApproval: false,
  effect: "transactional",
  async execute({ page: asked, okf, revision }, context) {
    const writer = writerOf(context);
    const found = await lookupPage(writer, asked);
    if (found.kind === "ambiguous") return tellEdit(asked, found);
    if (found.kind === "missing") return tellEdit(asked, await createFromOkf(writer, { page: asked, okf }));
    const { page } = found;
    const seen = await readSeenPage(context.tx, context.runId, page.id);
    const base = revision ?? seen.lastRevision;
    if (base === undefined || !seen.knowsRevision(base))
      return notRead(seen, revision, `page ${namePage(page)} with kb.read`);
    const findObjection = (past: PastPage): string | undefined =>
      seen.wasShown(base, past)
        ? undefined
        : `Page ${namePage(page)} was shown only in part at revision ${base}, so it cannot be sent back as a whole. Change a part of it with kb.node.edit.`;
    return tellEdit(asked, await applyOkf(writer, { page: page.id, okf, revision: base, findObjection }));
  },
});

/** Tells the model that what it would change is not what this run was shown. */
export function notRead(seen: SeenPage, revision: number | undefined, what: string): ToolResult {
  const why = !seen.isSeen
    ? "this run has not read it"
    : revision === undefined
      ? "others changed it too since you read it"
      : `this run was not shown it at revision ${revision}`;
  return { kind: "failed", content: `Nothing was changed: ${why}. Read ${what} first.` };
}
