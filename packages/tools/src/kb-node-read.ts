import { defineTool } from "@countersign/engine/tool.ts";
import { findNode } from "@countersign/kb/find-node.ts";
import { writeFragment } from "@countersign/kb/node-fragment.ts";
import { z } from "zod";
import { headOf, partOf } from "./kb-head.ts";
import { readerOf } from "./kb-writer.ts";

const schema = z.strictObject({
  node: z.uuid().describe("The node's id, from kb.read, kb.grep or kb.search"),
  depth: z.int().min(0).max(50).optional().describe("How many levels below it to show; all unless given"),
});

const mostBytes = 28_000;

/** One node with all that is below it, as Markdown of its own. */
export const kbNodeRead = defineTool<z.infer<typeof schema>>({
  name: "kb.node.read",
  description: "Reads one bullet, heading or other node of a page with what is below it, every bullet with its id.",
  schema,
  tier: "read",
  needsApproval: false,
  effect: "read-only",
  execute({ node: asked, depth }, context) {
    const nodeId = asked.toLowerCase();
    return context.read(async (tx) => {
      const found = await findNode(readerOf(context, tx), nodeId);
      if (found === undefined) return { kind: "failed", content: explainNoNode(nodeId) };
      const depths = new Map<string, number>();
      const shown = found.subtree.filter(({ id, parentId }) => {
        const at = id === nodeId ? 0 : (depths.get(parentId ?? "") ?? 0) + 1;
        depths.set(id, at);
        return depth === undefined || at <= depth;
      });
      const hidden = found.subtree.length - shown.length;
      const text = writeFragment(found.page.nodes, shown, true);
      const isLong = Buffer.byteLength(text) > mostBytes;
      const start = isLong ? Buffer.from(text).subarray(0, mostBytes).toString("utf8") : text;
      const notes = [
        ...(hidden > 0 ? [`truncated: ${hidden} nodes below are not shown; this is not the whole of it`] : []),
        ...(isLong
          ? [`truncated: ${mostBytes} of ${Buffer.byteLength(text)} bytes are shown; read the bullets in it one by one`]
          : []),
      ];
      return {
        kind: "done",
        content: `${headOf(found.page, notes.length === 0 ? partOf(nodeId) : `part of node ${nodeId}`)}${notes.join("\n")}\n${start}`,
      };
    });
  },
});

/** Tells the model that an id is of no node that its user sees. */
export function explainNoNode(nodeId: string): string {
  return `There is no node ${nodeId}. Take an id from kb.read, kb.grep or kb.search.`;
}
