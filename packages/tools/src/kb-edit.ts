import { defineTool } from "@countersign/engine/tool.ts";
import { applyOkf } from "@countersign/kb/apply-okf.ts";
import { lookupPage } from "@countersign/kb/lookup.ts";
import { z } from "zod";
import { tellEdit } from "./kb-edit-result.ts";
import { explainUnseen, type KnownRevision, listKnownRevisions } from "./kb-head.ts";
import { namePage, writerOf } from "./kb-writer.ts";
import { storableLine, storableText } from "./plain-text.ts";

const schema = z.strictObject({
  page: storableLine(200).describe("The page's title or id; a title that no page has makes a new page"),
  okf: storableText(200_000).describe(
    "The whole page as it shall be, in Markdown. Keep the ids <!--…--> of the bullets that stay; new ones need none.",
  ),
  revision: z.int().min(1).optional().describe("The revision that was read; the one this run saw last unless given"),
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
    let base = revision;
    if (found.kind === "found") {
      const seen = await listKnownRevisions(context.tx, context.runId, found.page.id);
      const known = pickKnown(seen, revision);
      const name = namePage(found.page);
      if (known?.kind === "truncated" || known?.kind === "part") {
        return {
          kind: "failed",
          code: "invalid_args",
          content: `Nothing was changed: page ${name} was shown only in part, so it cannot be sent back as a whole. Change a part of it with kb.node.edit.`,
        };
      }
      if (revision !== undefined && known === undefined) {
        return { kind: "failed", content: `Nothing was changed: ${explainUnseen(revision, seen)} Page: ${name}.` };
      }
      base ??= known?.revision;
      if (base === undefined) {
        const why = seen.length > 0 ? "others changed it too since you read it" : "this run has not read it";
        return { kind: "failed", content: `Nothing was changed: ${why}. Read page ${name} with kb.read first.` };
      }
    }
    return tellEdit(asked, await applyOkf(writer, { page: asked, okf, revision: base }));
  },
});

/** What the run goes by: the revision it names, best as it saw that whole; else what it saw last, parts of it apart. */
function pickKnown(seen: readonly KnownRevision[], asked: number | undefined) {
  if (asked === undefined) {
    const last = seen.find(({ kind }) => kind !== "part") ?? seen[0];
    return last?.kind === "merged" ? undefined : last;
  }
  const same = seen.flatMap((known) => ("revision" in known && known.revision === asked ? [known] : []));
  return same.find(({ kind }) => kind === "known") ?? same[0];
}
