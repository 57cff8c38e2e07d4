import type { Queryable } from "@countersign/db/connect.ts";
import { decideApproval, type DecisionOutcome } from "@countersign/engine/commits/decide-approval.ts";
import type { Actor } from "./auth.ts";
import { notAnApprover } from "./not-an-approver.ts";
import { type AskedDecision, type Deciding, noApproval, prepareDecision } from "./prepare-decision.ts";
import { heldByKill, Problem, type ProblemDetails } from "./problem.ts";
import { type FoundApproval, readApproval } from "./queries/approvals.ts";
import type { Approval } from "./shapes/approvals.ts";

export interface Decided {
  readonly outcome: "decided" | "repeated" | "voted";
  readonly approval: FoundApproval;
}

/**
 * Decides an approval for the actor. When it returns the decision stands and the run is on its way, or the vote counts and
 * the approval waits for more; where the actor had decided the same before, it still stands. Every other outcome is a
 * refusal that says how the approval stands.
 */
export async function decide(work: Deciding, actor: Actor, asked: AskedDecision): Promise<Decided> {
  const { approval, decision } = await prepareDecision(work, actor, asked);
  const outcome = await work.commit(decideApproval, decision);
  // What the person is told comes from the row as it stands now, so that every surface says the same.
  const now = (await readApproval(work.sql, actor.workspaceId, approval.id)) ?? approval;
  if (isDecided(outcome)) return taken(work, outcome.kind, now);
  throw await refusalOf(work.sql, outcome, now, actor, asked.answer);
}

/** What the person is told of a decision that stands; a new one is counted. */
export function taken(work: Deciding, outcome: Decided["outcome"], approval: FoundApproval): Decided {
  const { answer, requestedAt, decidedAt } = approval;
  if (outcome === "decided" && answer !== null && decidedAt !== null)
    work.countDecision(answer, (decidedAt.getTime() - requestedAt.getTime()) / 1_000);
  return { outcome, approval };
}

type Refused = Exclude<DecisionOutcome, { kind: "decided" | "repeated" | "voted" }>;

/** True where what the person said stands. */
export function isDecided(outcome: DecisionOutcome): outcome is Extract<DecisionOutcome, { kind: Decided["outcome"] }> {
  return outcome.kind === "decided" || outcome.kind === "repeated" || outcome.kind === "voted";
}

/** Why a decision was not taken, for whoever made it: how the approval stands, who was first, and what to do. */
export async function refusalOf(
  sql: Queryable,
  outcome: Refused,
  now: Approval,
  actor: Actor,
  answer: AskedDecision["answer"],
): Promise<Problem> {
  switch (outcome.kind) {
    case "settled":
      return settled(now);
    case "expired":
      return new Problem(
        "expired",
        `The approval of ${now.tool} expired ${at(now.decidedAt ?? now.expiresAt)} before anybody decided; the call was not made. The run goes on without it.`,
        settlementOf(now),
      );
    case "stale":
      return new Problem(
        "stale",
        `The approval of ${now.tool} has changed since you saw it: version ${now.version}, arguments ${now.argsDigest}. Look at it again and decide on what it says now.`,
        settlementOf(now),
      );
    case "killed":
      return heldByKill(now.heldBy, "Nothing is decided; the approval waits until an administrator lifts it.");
    case "forbidden":
      return await notAnApprover(sql, actor, now);
    case "may_not_remember":
      return new Problem(
        "forbidden",
        "You may decide this, but not leave that rule behind. Rules of the workspace are an administrator's, and so are those of a definition that forbids self-approval; none is written on another's say. Approve it without `remember`, or with a narrower scope.",
      );
    case "not_offered":
      return new Problem(
        "not_offered",
        `Approving ${now.tool} takes one of the options on its card; send its id as selectedOption. A card without options takes none.`,
      );
    case "wrong_answer":
      return new Problem(
        "wrong_answer",
        now.kind === "outcome"
          ? `Nobody can tell whether ${now.tool} happened: answer done, retry or give_up, not ${answer}.`
          : `This approval asks for permission: answer approve or deny, not ${answer}.`,
      );
    case "not_found":
      return noApproval(now.id);
    case "held_back":
      return new Problem("already_closed", "Another of these decisions was refused, so none was taken.");
  }
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
    `The approval of ${tool} was ${status}${why} ${at(decidedAt)}, so there is nothing left to decide. ${next}`,
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

function at(time: Date | null): string {
  return time === null ? "earlier" : `at ${time.toISOString()}`;
}
