import { extendApproval } from "@countersign/engine/commits/extend-approval.ts";
import { type Actor, wayOf } from "./auth.ts";
import type { Work } from "./idempotency.ts";
import { notAnApprover } from "./not-an-approver.ts";
import { isWithinRole, noApproval } from "./prepare-decision.ts";
import { heldByKill, invalidField, Problem } from "./problem.ts";
import { type FoundApproval, readApproval } from "./queries/approvals.ts";

/** So far ahead a deadline can be moved. */
const mostAheadMs = 366 * 24 * 3_600_000;

/** Afterwards the approval waits until `until`. Refused for whoever may not decide it, and where nothing waits any more. */
export async function extend(
  { sql, commit }: Pick<Work, "sql" | "commit">,
  actor: Actor,
  approvalId: string,
  until: Date,
): Promise<FoundApproval> {
  const { workspaceId, userId } = actor;
  const approval = await readApproval(sql, workspaceId, approvalId);
  if (approval === undefined) throw noApproval(approvalId);
  if (!actor.mayDecide)
    throw new Problem(
      "may_not_decide",
      `This token of ${(actor.via ?? actor).name} was made without the right to decide, and so without that to put off a decision.`,
    );
  if (!(await isWithinRole(sql, actor, approvalId))) throw await notAnApprover(sql, actor, approval);
  if (until.getTime() > Date.now() + mostAheadMs) throw invalidField("json.until", "is more than a year ahead");
  const outcome = await commit(extendApproval, {
    runId: approval.run.id,
    approvalId,
    workspaceId,
    userId,
    until,
    way: wayOf(actor),
  });
  const now = (await readApproval(sql, workspaceId, approvalId)) ?? approval;
  switch (outcome.kind) {
    case "extended":
      return now;
    case "not_later":
      throw invalidField(
        "json.until",
        `is not after ${now.expiresAt?.toISOString() ?? "its deadline"}, until when it waits already`,
      );
    case "never_expires":
      throw new Problem("wrong_kind", `The approval of ${now.tool} has no deadline: it waits until somebody decides.`);
    case "expired":
      throw new Problem(
        "expired",
        `The approval of ${now.tool} has expired, which is final; the run goes on without it.`,
      );
    case "settled":
      throw new Problem(
        "already_closed",
        `The approval of ${now.tool} is ${now.status}; there is nothing left to wait for.`,
      );
    case "killed":
      throw heldByKill(now.heldBy, "Nothing expires until it is lifted.");
    case "forbidden":
      throw await notAnApprover(sql, actor, now);
    case "not_found":
      throw noApproval(approvalId);
  }
}
