import { defineTool } from "@countersign/engine/tool.ts";
import { editNode } from "@countersign/kb/edit-node.ts";
import { findPageOfNode } from "@countersign/kb/find-node.ts";
import { z } from "zod";
import { tellEdit } from "./kb-edit-result.ts";
import { explainUnseen, listKnownRevisions } from "./kb-head.ts";
import { explainNoNode } from "./kb-node-read.ts";
import { writerOf } from "./kb-writer.ts";
import { storableText } from "./plain-text.ts";

const schema = z.strictObject({
  node: z.uuid().describe("The id of the node to replace, with all that is below it"),
  okf: storableText(200_000).describe("The node as it shall be: exactly one bullet at the root, with what is below it"),
  revision: z
    .int()
    .min(1)
    .optional()
    .describe("The page's revision that was read; the one this run saw last unless given"),
});

/** Replaces one node and what is below it; the rest of the page is not looked at. */
export const kbNodeEdit = defineTool<z.infer<typeof schema>>({
  name: "kb.node.edit",
  description:
    "Changes one bullet of a page with all that is below it: send it as it shall be. Bullets that stay keep their ids.",
  schema,
  tier: "write",
  risk: "low",
  needsApproval: false,
  effect: "transactional",
  async execute({ node, okf, revision }, context) {
    const writer = writerOf(context);
    const nodeId = node.toLowerCase();
    const pageId = await findPageOfNode(writer, nodeId);
    if (pageId === undefined) return { kind: "failed", content: explainNoNode(nodeId) };
    const seen = await listKnownRevisions(context.tx, context.runId, pageId);
    const [known] = seen;
    if (revision !== undefined && !seen.some((one) => "revision" in one && one.revision === revision)) {
      return { kind: "failed", content: `Nothing was changed: ${explainUnseen(revision, seen)} Node: ${nodeId}.` };
    }
    const base = revision ?? (known !== undefined && "revision" in known ? known.revision : undefined);
    if (base === undefined) {
      const why = known === undefined ? "this run has not read it" : "others changed the page too since you read it";
      return { kind: "failed", content: `Nothing was changed: ${why}. Read node ${nodeId} with kb.node.read first.` };
    }
    const result = await editNode(writer, { nodeId, okf, revision: base });
    return result.kind === "missing"
      ? { kind: "failed", content: explainNoNode(nodeId) }
      : tellEdit(nodeId, result, known?.kind !== "known");
  },
});
