import type { Tx } from "@countersign/db/connect.ts";
import { appendBullet } from "@countersign/kb/append-bullet.ts";
import { createPage } from "@countersign/kb/create-page.ts";
import { type Proposal, settleProposal } from "@countersign/ops/memory.ts";

const dir = "memory";

/** What a proposal of memory came to. */
export type AcceptMemoryResult =
  | { readonly kind: "accepted" | "settled" }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Afterwards the proposal, which the caller holds locked, is the last bullet of its kind's page, written as the person who
 * accepts it; the page is made where it is missing. `settled` where it had been settled, `refused` where the page does not
 * take it; then nothing is changed.
 */
export async function acceptMemory(
  tx: Tx,
  { workspaceId, userId }: { readonly workspaceId: string; readonly userId: string },
  proposal: Proposal,
): Promise<AcceptMemoryResult> {
  if (proposal.status !== "proposed") return { kind: "settled" };
  const writer = { tx, workspaceId, userId };
  const title = `Memory: ${proposal.kind}`;
  // What is called so elsewhere, by its title or by an alias, is anybody's: an agent's, or a captured text's.
  const created = await createPage(writer, { title, dir, isOnlyIn: true });
  if (created.kind === "refused") return created;
  const appended = await appendBullet(writer, { page: created.page.id, text: asBullet(proposal.text) });
  if (appended.kind === "refused") return appended;
  if (appended.kind !== "appended") return { kind: "refused", reason: `The page "${title}" cannot be written.` };
  const isSettled = await settleProposal(tx, {
    workspaceId,
    id: proposal.id,
    settledBy: `user:${userId}`,
    place: { pageId: appended.page.id, nodeId: appended.nodeId },
  });
  return { kind: isSettled ? "accepted" : "settled" };
}

/** The text so that it is shown and is nothing else: no comment is an id, and a sign at its start begins no block. */
function asBullet(text: string): string {
  return text
    .replaceAll("<!--", "&lt;!--")
    .replace(/^[-*+>#|~`]/, "\\$&")
    .replace(/^(\d+)([.)])/, "$1\\$2");
}
