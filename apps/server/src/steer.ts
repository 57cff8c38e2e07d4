import { steerRun } from "@countersign/engine/commits/steer-run.ts";
import { stringifyExact } from "@countersign/engine/exact-text.ts";
import type { Actor } from "./auth.ts";
import type { ServerDependencies } from "./context.ts";
import { idFor } from "./idempotency.ts";
import { keyReused, noRun, Problem } from "./problem.ts";
import { readSteer } from "./queries/steers.ts";

export interface Steered {
  /** Its number in the run's inbox. */
  readonly n: number;
  /** It had been sent before, under the same key. */
  readonly isRepeat: boolean;
}

/**
 * Sends the actor's message into a live run. When it returns the message is in the run's inbox and is read before the
 * next model turn. Refused where the run has ended, or the key stands for another message.
 */
export async function steer(
  { sql, commit }: Pick<ServerDependencies, "sql" | "commit">,
  actor: Actor,
  asked: {
    readonly runId: string;
    readonly message: string;
    readonly key: string | undefined;
  },
): Promise<Steered> {
  const { runId, key } = asked;
  const content = stringifyExact(asked.message);
  const steerId = idFor(actor, "steer", key);
  const before = key === undefined ? undefined : await readSteer(sql, steerId);
  const outcome = await commit(steerRun, {
    runId,
    workspaceId: actor.workspaceId,
    steerId,
    authorId: actor.userId,
    content,
  });
  switch (outcome.kind) {
    case "not_found":
      throw noRun(runId);
    case "mismatch":
      throw keyReused(key ?? "");
    case "ended":
      throw new Problem(
        "run_ended",
        `The run ${runId} ended before your message reached it; it reads nothing more. Start another run with it.`,
      );
    case "queued": {
      const stored = key === undefined ? undefined : await readSteer(sql, steerId);
      if (stored !== undefined && stored.content !== content) throw keyReused(key ?? "");
      return { n: outcome.n, isRepeat: before !== undefined };
    }
  }
}
