import { createHash } from "node:crypto";
import { defineTool } from "@countersign/engine/tool.ts";
import { findNode, type FoundNode } from "@countersign/kb/find-node.ts";
import { writeFragment } from "@countersign/kb/node-fragment.ts";
import { removeNode } from "@countersign/kb/remove-node.ts";
import { z } from "zod";
import { explainNoNode } from "./kb-node-read.ts";
import { namePage, readerOf, writerOf } from "./kb-writer.ts";

const schema = z.strictObject({
  node: z.uuid().describe("The id of the node to remove, with all that is below it"),
});

/** Removes a node and what is below it, once a person has seen what that is. */
export const kbRemove = defineTool<z.infer<typeof schema>>({
  name: "kb.remove",
  description: "Removes a bullet or another node of a page with all that is below it. A person is asked first.",
  schema,
  tier: "write",
  risk: "high",
  needsApproval: true,
  effect: "transactional",
  details: ({ node }) => [`Removes node ${node} with all that is below it`],
  propose({ node }, context) {
    return context.read(async (tx) => {
      const found = await findNode(readerOf(context, tx), node.toLowerCase());
      if (found === undefined) return { kind: "failed", content: explainNoNode(node) };
      const lines = textOf(found).replace(/\n$/, "").split("\n");
      return {
        kind: "proposed",
        message: `Removes ${found.subtree.length === 1 ? "1 node" : `${found.subtree.length} nodes`} from page ${namePage(found.page)}.`,
        preview: [
          `--- ${found.page.title}`,
          `+++ ${found.page.title}`,
          `@@ -1,${lines.length} +0,0 @@`,
          ...lines.map((line) => `-${line}`),
        ].join("\n"),
        preconditions: [{ kind: "page", name: `node ${node.toLowerCase()}`, hash: hashOf(found) }],
      };
    });
  },
  async execute({ node }, context) {
    const writer = writerOf(context);
    const [agreed] = context.preconditions;
    const result = await removeNode(
      writer,
      node.toLowerCase(),
      (found) => agreed === undefined || agreed.hash === hashOf(found),
    );
    switch (result.kind) {
      case "removed":
        return {
          kind: "done",
          content: `Removed ${result.nodeCount} nodes from page ${namePage(result.page)}, now at revision ${result.page.revision}. A person can take it back (command ${result.commandId}).`,
        };
      case "changed":
        return { kind: "changed", content: `What stands at node ${node} has changed, so nothing was removed.` };
      case "missing":
        return { kind: "failed", content: explainNoNode(node) };
      case "refused":
        return { kind: "failed", content: `Nothing was removed. ${result.reason}` };
      case "forbidden":
        return { kind: "failed", content: "The user of this run may read that page, but not change it." };
    }
  },
});

function textOf({ page, subtree }: FoundNode): string {
  return writeFragment(page.nodes, subtree, false);
}

/** Of what is agreed to: this text, on this page. */
function hashOf(found: FoundNode): string {
  return createHash("sha256")
    .update(JSON.stringify([found.page.id, textOf(found)]))
    .digest("hex");
}
