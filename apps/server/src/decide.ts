import { type Answer, decideApproval } from "@countersign/engine/commits/decide-approval.ts";
import { type Actor, hasRole, wayOf } from "./auth.ts";
import type { Work } from "./idempotency.ts";
import { readVersion } from "./if-match.ts";
import { Problem, type ProblemDetails } from "./problem.ts";
import { readApproval } from "./queries/approvals.ts";
import { auditRefusedDecision } from "./queries/audit.ts";
import type { Approval } from "./shapes/approvals.ts";

/** A decision as a request brings it: what is decided, and what the person saw when deciding. */
export interface AskedDecision {
  readonly approvalId: string;
  readonly answer: Answer;
  readonly ifMatch: string | undefined;
  readonly argsDigest?: string | undefined;
  readonly feedback?: string | undefined;
  readonly note?: string | undefined;
}

export interface Decided {
  readonly outcome: "decided" | "repeated";
  readonly approval: Approval;
}

/**
 * Decides an approval for the actor. When it returns the decision stands and the run is on its way; where the actor had
 * decided the same before, it still stands. Every other outcome is a refusal that says how the approval stands.
 */
export async function decide(
  { sql, commit }: Pick<Work, "sql" | "commit">,
  actor: Actor,
  asked: AskedDecision,
): Promise<Decided> {
  const { workspaceId, userId } = actor;
  const approval = await readApproval(sql, workspaceId, asked.approvalId);
  if (approval === undefined) throw noApproval(asked.approvalId);
  if (!actor.mayDecide && hasRole(actor, "approver")) {
    await auditRefusedDecision(sql, actor, approval, { answer: asked.answer, outcome: "may_not_decide" });
    throw new Problem(
      "may_not_decide",
      `This token of ${(actor.via ?? actor).name} was made without the right to decide. Decide with your own token.`,
    );
  }
  // The commit reads the role of the user alone; a service that acts for one has no more than its own.
  if (actor.via !== undefined && !hasRole(actor, "approver")) {
    await auditRefusedDecision(sql, actor, approval, { answer: asked.answer, outcome: "forbidden" });
    throw notAnApprover(actor);
  }
  const seen = whatWasSeen(asked, approval);

  const outcome = await commit(decideApproval, {
    runId: approval.run.id,
    approvalId: approval.id,
    workspaceId,
    userId,
    answer: asked.answer,
    ...seen,
    way: wayOf(actor),
    ...(asked.feedback === undefined ? {} : { feedback: asked.feedback }),
    ...(asked.note === undefined ? {} : { note: asked.note }),
  });

  // What the person is told comes from the row as it stands now, so that every surface says the same.
  const now = (await readApproval(sql, workspaceId, approval.id)) ?? approval;
  switch (outcome.kind) {
    case "decided":
    case "repeated":
      return { outcome: outcome.kind, approval: now };
    case "settled":
      throw settled(now);
    case "expired":
      throw new Problem(
        "expired",
        `The approval of ${now.tool} expired ${at(now.decidedAt ?? now.expiresAt)} before anybody decided; the call was not made. The run goes on without it.`,
        settlementOf(now),
      );
    case "stale":
      throw new Problem(
        "stale",
        `The approval of ${now.tool} has changed since you saw it: version ${now.version}, arguments ${now.argsDigest}. Look at it again and decide on what it says now.`,
        settlementOf(now),
      );
    case "killed":
      throw new Problem(
        "killed",
        `A kill switch (${now.heldBy ?? "lifted meanwhile"}) holds this run, so nothing is decided. The approval waits until an administrator lifts it.`,
      );
    case "forbidden":
      throw notAnApprover(actor);
    case "wrong_answer":
      throw new Problem(
        "wrong_answer",
        now.kind === "outcome"
          ? `Nobody can tell whether ${now.tool} happened: answer done, retry or give_up, not ${asked.answer}.`
          : `This approval asks for permission: answer approve or deny, not ${asked.answer}.`,
      );
    case "not_found":
      throw noApproval(asked.approvalId);
  }
}

function notAnApprover(actor: Actor): Problem {
  return new Problem(
    "not_an_approver",
    `Deciding needs the role approver or admin; ${actor.name} is ${actor.role}. Ask an approver.`,
  );
}

function whatWasSeen(
  { ifMatch, argsDigest }: AskedDecision,
  approval: Approval,
): { version: number; argsHash: string } {
  if (ifMatch === undefined || argsDigest === undefined) {
    const missing = [
      ...(ifMatch === undefined ? ['the header If-Match with its version, such as "1"'] : []),
      ...(argsDigest === undefined ? ["argsDigest in the body"] : []),
    ];
    throw new Problem(
      "precondition_required",
      `A decision says what it was made on: send ${missing.join(" and ")}, both as GET /v1/approvals/${approval.id} shows them.`,
    );
  }
  return { version: readVersion(ifMatch), argsHash: argsDigest };
}

function settled(approval: Approval): Problem {
  const { status, tool, decidedBy, answer, decidedAt, settledReason } = approval;
  if (status === "approved" || status === "denied") {
    return new Problem(
      "already_decided",
      `${decidedBy?.name ?? "Somebody"} decided this approval of ${tool} ${at(decidedAt)}: ${answer ?? status}. Nothing was changed by you.`,
      settlementOf(approval),
    );
  }
  const why = settledReason === null ? "" : ` (${settledReason})`;
  const next =
    status === "canceled"
      ? "Its run has ended; start another run if it is still wanted."
      : "The policy has changed and answers instead; look at the run for what it did.";
  return new Problem(
    "already_closed",
    `The approval of ${tool} is ${status}${why} since ${at(decidedAt)}, so there is nothing left to decide. ${next}`,
    settlementOf(approval),
  );
}

function settlementOf(approval: Approval): ProblemDetails {
  const { status, answer, decidedBy, decidedAt, settledReason } = approval;
  return {
    settlement: {
      status,
      answer,
      by: decidedBy?.name ?? null,
      at: decidedAt,
      reason: settledReason,
    },
  };
}

function noApproval(id: string): Problem {
  return new Problem(
    "not_found",
    `There is no approval ${id} in this workspace. GET /v1/approvals lists those that wait.`,
  );
}

function at(time: Date | null): string {
  return time === null ? "earlier" : `at ${time.toISOString()}`;
}
