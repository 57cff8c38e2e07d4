import { steerRun } from "@countersign/engine/commits/steer-run.ts";
import { stringifyExact } from "@countersign/engine/exact-text.ts";
import { v7 as newId } from "uuid";
import { type Actor, isThemselves } from "./auth.ts";
import type { Work } from "./idempotency.ts";
import { noRun, Problem } from "./problem.ts";

export interface Steered {
  /** Its number in the run's inbox. */
  readonly n: number;
}

/**
 * Sends the actor's message into a live run. When it returns the message is in the run's inbox and is read before the
 * next model turn. Refused where the run has ended.
 */
export async function steer(
  { commit }: Pick<Work, "commit">,
  actor: Actor,
  asked: { readonly runId: string; readonly message: string },
): Promise<Steered> {
  const { runId, message } = asked;
  const outcome = await commit(steerRun, {
    runId,
    workspaceId: actor.workspaceId,
    steerId: newId(),
    authorId: actor.userId,
    content: stringifyExact(message),
    isTyped: isThemselves(actor),
  });
  switch (outcome.kind) {
    case "queued":
      return { n: outcome.n };
    case "ended":
      throw new Problem(
        "run_ended",
        `The run ${runId} ended before your message reached it; it reads nothing more. Start another run with it.`,
      );
    case "not_found":
      throw noRun(runId);
    case "mismatch":
      throw new Error(`a new steer of the run ${runId} has the id of another`);
  }
}
