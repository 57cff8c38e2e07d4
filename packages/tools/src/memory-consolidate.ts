import { defineTool } from "@countersign/engine/tool.ts";
import { consolidateMemory, listPlaces, listProposals } from "@countersign/ops/memory.ts";
import { z } from "zod";

const mostShown = 100;

const schema = z.strictObject({});

/** Closes proposals that say what another said before; no model is asked, and the same proposals give the same result. */
export const memoryConsolidate = defineTool<z.infer<typeof schema>>({
  name: "memory.consolidate",
  description:
    "Closes proposals of memory that only repeat another, and lists what is left for a person to decide. Accepts and dismisses nothing.",
  schema,
  tier: "write",
  risk: "low",
  needsApproval: false,
  effect: "transactional",
  async execute(_args, { tx, workspaceId, userId, runId, shown }) {
    const { closed } = await consolidateMemory(tx, { workspaceId, userId, consolidatedBy: `run:${runId}` });
    const open = await listProposals(tx, { workspaceId, userId, status: "proposed", limit: mostShown });
    const places = await listPlaces(tx, { workspaceId, userId }, [...new Set(open.map(({ kind }) => kind))]);
    for (const id of places.pages) shown.pages.add(id);
    if (open.length > 0) for (const dir of places.dirs) shown.dirs.add(dir);
    for (const { runId: by } of open) if (by !== null) shown.runs.add(by);
    const lines = open.slice(0, mostShown).map(({ id, kind, text }) => `- ${id} [${kind}] ${text}`);
    const left = open.length > mostShown ? `more than ${mostShown}; the oldest are shown` : String(open.length);
    const said = `${closed} ${closed === 1 ? "duplicate was" : "duplicates were"} closed. Open: ${left}.`;
    return { kind: "done", content: [said, ...lines].join("\n") };
  },
});
