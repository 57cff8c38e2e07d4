import { defineTool } from "@countersign/engine/tool.ts";
import { proposeMemory } from "@countersign/ops/memory.ts";
import { z } from "zod";
import { storableLine } from "./plain-text.ts";

const schema = z.strictObject({
  kind: z
    .string()
    .regex(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/, "expected one word in lower case, such as preference")
    .max(40)
    .describe("What sort of thing it is, such as preference, decision, fact or lesson"),
  text: storableLine(2_000).describe("One statement that makes sense by itself, on one line"),
});

/** Files something to be remembered; a person accepts or dismisses it. */
export const memoryPropose = defineTool<z.infer<typeof schema>>({
  name: "memory.propose",
  description:
    "Proposes something worth remembering beyond this run. It is kept as a proposal until a person accepts it into the knowledge base or dismisses it.",
  schema,
  tier: "write",
  risk: "low",
  needsApproval: false,
  effect: "transactional",
  async execute({ kind, text }, { tx, workspaceId, runId, callId }) {
    await proposeMemory(tx, { id: callId, workspaceId, kind, text: text.trim(), proposedBy: `run:${runId}`, runId });
    return { kind: "done", content: `Proposed as ${kind}, id ${callId}. A person decides whether it is remembered.` };
  },
});
