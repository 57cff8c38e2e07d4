import type { Tx } from "@countersign/db/connect.ts";
import type { ApplyOkfResult } from "@countersign/kb/apply-okf.ts";
import type { Writer } from "@countersign/kb/scope.ts";
import type { Actor } from "./auth.ts";
import { Problem } from "./problem.ts";
import type { Edited } from "./shapes/pages.ts";

/** Who asks, as a reader and writer of pages. A program may not say that a person verified something. */
export function writerOf(actor: Actor, tx: Tx): Writer {
  const { workspaceId, userId, isService, via } = actor;
  return { tx, workspaceId, userId, isPerson: !isService && via === undefined };
}

/** What came of an edit; what was not done is a Problem. */
export function showEdit(result: ApplyOkfResult): Edited {
  switch (result.kind) {
    case "applied":
      return {
        outcome: result.isCreated ? "created" : "changed",
        pageId: result.page.id,
        revision: result.page.revision,
        commandId: result.commandId,
        isMerged: result.isMerged,
        added: result.added,
        changed: result.changed,
        removed: result.removed,
        renamedLinks: result.renamedLinks,
        warnings: [...result.warnings],
      };
    case "unchanged":
      return {
        outcome: "unchanged",
        pageId: result.page.id,
        revision: result.page.revision,
        commandId: null,
        isMerged: false,
        added: 0,
        changed: 0,
        removed: 0,
        renamedLinks: 0,
        warnings: [...result.warnings],
      };
    case "stale":
      throw new Problem(
        "stale",
        `The page is at revision ${result.page.revision} by now, and ${result.reason}${result.nodeIds.length === 0 ? "" : ` (${result.nodeIds.slice(0, 10).join(", ")})`}. Nothing was changed. Read it again, and change what is there now.`,
      );
    case "forbidden":
      throw mayNotChange(result.page.id);
    case "refused":
      throw new Problem("unfit_page", result.reason);
    case "ambiguous":
      throw new Error("A page was named by its id and is ambiguous");
  }
}

/** There is no such page, or none that the asker may see. */
export function noPage(id: string): Problem {
  return new Problem("not_found", `There is no page ${id} in this workspace. GET /v1/pages lists them.`);
}

/** There is no such node, or none that the asker may see. */
export function noNode(id: string): Problem {
  return new Problem("not_found", `There is no node ${id} in this workspace. Take an id from its page.`);
}

/** The asker sees the page, and has no right to write it. */
export function mayNotChange(id: string): Problem {
  return new Problem("forbidden", `You may read page ${id}, but not change it: an access rule says so.`);
}
