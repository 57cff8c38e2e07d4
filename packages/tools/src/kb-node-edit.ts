import { defineTool } from "@countersign/engine/tool.ts";
import { editNode } from "@countersign/kb/edit-node.ts";
import { findPageOfNode } from "@countersign/kb/find-node.ts";
import type { PastPage } from "@countersign/kb/page-history.ts";
import { z } from "zod";
import { notRead } from "./kb-edit.ts";
import { tellEdit } from "./kb-edit-result.ts";
import { partOf } from "./kb-head.ts";
import { explainNoNode } from "./kb-node-read.ts";
import { readSeenPage } from "./kb-seen.ts";
import { writerOf } from "./kb-writer.ts";
import { storableText } from "./plain-text.ts";

const schema = z.strictObject({
  node: z.uuid().describe("The id of the node to replace, with all that is below it"),
  okf: storableText(200_000).describe("The node as it shall be: exactly one bullet at the root, with what is below it"),
  revision: z
    .int()
    .min(1)
    .optional()
    .describe("The page's revision at which this run read the node; the last such unless given"),
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
    const seen = await readSeenPage(context.tx, context.runId, pageId);
    const base = revision ?? seen.lastRevisionOf(nodeId);
    if (base === undefined || !seen.knowsRevision(base))
      return notRead(seen, revision, `node ${nodeId} with kb.node.read`);
    const findObjection = (nodes: PastPage["nodes"]): string | undefined =>
      seen.wasShown(base, { nodes })
        ? undefined
        : `Node ${nodeId} with what is below it was shown only in part at revision ${base}, so it cannot be sent back as a whole. Read it with kb.node.read, or change what is below it one by one.`;
    const result = await editNode(writer, { nodeId, okf, revision: base, findObjection });
    return result.kind === "missing"
      ? { kind: "failed", content: explainNoNode(nodeId) }
      : tellEdit(nodeId, result, partOf(nodeId));
  },
});
