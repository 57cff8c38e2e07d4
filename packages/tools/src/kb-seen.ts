import type { Queryable } from "@countersign/db/connect.ts";
import type { PastPage } from "@countersign/kb/page-history.ts";
import { type Head, listHeads } from "./kb-head.ts";

/** What a run knows of a page as it was at one revision, from all its results together. */
interface Known {
  /** The page was read, from its start on. */
  readonly isRead: boolean;
  readonly isWhole: boolean;
  /** Nodes that are known with all that is below them. */
  readonly wholeNodes: ReadonlySet<string>;
  readonly ids: ReadonlySet<string>;
  readonly lines: ReadonlySet<string>;
}

/** What a run has seen of a page. */
export interface SeenPage {
  /** False where no result of the run showed anything of it. */
  readonly isSeen: boolean;
  /** Whether the run was shown anything of the page at this revision, or made it by an edit of what it knew. */
  knowsRevision(revision: number): boolean;
  /**
   * What an edit of the page goes by that names no revision, appended bullets apart; undefined where others changed what
   * the run saw last.
   */
  readonly lastRevision: number | undefined;
  /** The same for an edit of a node. */
  lastRevisionOf(nodeId: string): number | undefined;
  /** Whether all of this, which is of the page at `revision`, was shown to the run. */
  wasShown(revision: number, past: Pick<PastPage, "nodes"> & Partial<PastPage>): boolean;
}

const nothing: Known = {
  isRead: false,
  isWhole: false,
  wholeNodes: new Set(),
  ids: new Set(),
  lines: new Set(),
};

/**
 * What this run knows of a page. Its own edits count where it knew the revision before: what it knew it knows afterwards
 * too, with what it wrote. What was put together with others' changes is known only once it was read again.
 */
export async function readSeenPage(sql: Queryable, runId: string, pageId: string): Promise<SeenPage> {
  const heads = await listHeads(sql, runId, pageId);
  const revisions = new Map<number, Known>();
  for (const one of heads) {
    const { note, revision, tool } = one;
    if (note === "merged") continue;
    const isEdit = tool === "kb.node.edit" || tool === "kb.append";
    const before = revisions.get(revision) ?? (isEdit ? revisions.get(revision - 1) : undefined) ?? nothing;
    revisions.set(revision, addTo(before, one, isEdit));
  }

  function lastWhere(isFit: (known: Known) => boolean, nodeId?: string): number | undefined {
    for (const { note, revision, tool, nodeId: own } of heads.toReversed()) {
      if (note === "merged") return undefined;
      // What the run appended is not in what it read, and is not to go with a text that was made of that.
      if (tool === "kb.append" && own !== nodeId) continue;
      if (isFit(revisions.get(revision) ?? nothing)) return revision;
    }
    return heads.at(-1)?.revision;
  }

  return {
    isSeen: heads.length > 0,
    knowsRevision: (revision) => revisions.has(revision),
    lastRevision: lastWhere(({ isRead }) => isRead),
    lastRevisionOf: (nodeId) =>
      lastWhere(({ isWhole, wholeNodes, ids }) => isWhole || wholeNodes.has(nodeId) || ids.has(nodeId), nodeId),
    wasShown: (revision, past) => isAllKnown(revisions.get(revision) ?? nothing, past),
  };
}

function addTo(before: Known, { note, nodeId, text, tool }: Head, isEdit: boolean): Known {
  const isWhole = before.isWhole || (note === "whole" && !isEdit);
  const isRead = before.isRead || isWhole || note === "truncated";
  const wholeNodes = nodeId === undefined ? before.wholeNodes : new Set([...before.wholeNodes, nodeId]);
  if (isWhole || isEdit || !tool.endsWith("read")) return { ...before, isWhole, isRead, wholeNodes };
  const ids = [...text.matchAll(/<!--([0-9a-f-]{36})-->/g)].flatMap(([, id]) => id ?? []);
  const lines = text.split("\n").map((line) => line.trim());
  return {
    isWhole,
    isRead,
    wholeNodes,
    ids: new Set([...before.ids, ...ids]),
    lines: new Set([...before.lines, ...lines]),
  };
}

/** A bullet is shown by its id and its further lines, another node by its lines. */
function isAllKnown(known: Known, { frontmatter = "", nodes }: Parameters<SeenPage["wasShown"]>[1]): boolean {
  if (known.isWhole) return true;
  const areShown = (lines: readonly string[]): boolean => lines.every((line) => known.lines.has(line.trim()));
  if (!areShown(frontmatter.split("\n").filter((line) => line.trim() !== ""))) return false;
  const covered = new Set<string | null>();
  return nodes.every(({ id, parentId, kind, text }) => {
    if (known.wholeNodes.has(id) || covered.has(parentId)) return covered.add(id);
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    return kind === "bullet" ? known.ids.has(id) && areShown(lines.slice(1)) : areShown(lines);
  });
}
