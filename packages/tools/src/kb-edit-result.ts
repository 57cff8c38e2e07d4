import type { ToolResult } from "@countersign/engine/tool.ts";
import type { ApplyOkfResult } from "@countersign/kb/apply-okf.ts";
import { headOf } from "./kb-head.ts";
import { explainForbidden, explainLookup, namePage } from "./kb-writer.ts";

/** Tells the model what came of an edit. `part`: the note of an edit that was of a part of the page. */
export function tellEdit(asked: string, result: ApplyOkfResult, part = ""): ToolResult {
  switch (result.kind) {
    case "applied": {
      const { page, added, changed, removed, isCreated, isMerged, renamedLinks, warnings } = result;
      const merged = "merged with what others changed; read it again before the next edit";
      const note = isMerged ? merged : part;
      const lines = [
        isCreated
          ? `The page is new, with ${count(added, "node")}.`
          : `Changed: ${count(added, "node")} added, ${changed} changed, ${removed} removed.`,
        ...(renamedLinks > 0 ? [`${count(renamedLinks, "link")} to the page now say its new title.`] : []),
        ...warnings,
      ];
      return { kind: "done", content: `${headOf(page, note)}\n${lines.join("\n")}` };
    }
    case "unchanged":
      return {
        kind: "done",
        content: [`Nothing to change: page ${namePage(result.page)} is like that already.`, ...result.warnings].join(
          "\n",
        ),
      };
    case "stale": {
      const { page, nodeIds, reason } = result;
      const where = nodeIds.length === 0 ? "" : ` (nodes ${nodeIds.slice(0, 10).join(", ")})`;
      return {
        kind: "failed",
        content: `Nothing was changed: page ${namePage(page)} has moved on to revision ${page.revision}, and ${reason}${where}. Read it again with kb.read, and edit what is there now.`,
      };
    }
    case "forbidden":
      return { kind: "failed", content: `Nothing was changed. ${explainForbidden(result.page)}` };
    case "refused":
      return { kind: "failed", code: "invalid_args", content: `Nothing was changed. ${result.reason}` };
    case "ambiguous":
      return { kind: "failed", content: `Nothing was changed. ${explainLookup(asked, result)}` };
  }
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
