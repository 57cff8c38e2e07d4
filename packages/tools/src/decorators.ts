import type { Decorator } from "@countersign/engine/decorate-tool.ts";
import type { ToolResult } from "@countersign/engine/tool.ts";

/** What there is to count and to log of one attempt; nothing of its contents. */
export interface ToolAttempt {
  readonly tool: string;
  readonly workspaceId: string;
  readonly runId: string;
  readonly callId: string;
  /** `threw` where the tool failed with an error of its own. */
  readonly outcome: ToolResult["kind"] | "threw";
  readonly tookMs: number;
}

/** Tells `report` of every attempt when it is over, however it ended. */
export function reportAttempts(report: (attempt: ToolAttempt) => void): Decorator {
  return (next, { name }) =>
    async (args, context) => {
      const { workspaceId, runId, callId } = context;
      const beganAt = performance.now();
      let outcome: ToolAttempt["outcome"] = "threw";
      try {
        const result = await next(args, context);
        outcome = result.kind;
        return result;
      } finally {
        report({ tool: name, workspaceId, runId, callId, outcome, tookMs: performance.now() - beganAt });
      }
    };
}

/** Lets each workspace attempt a tool at most `most` times within `windowMs`, in this process; more fail, not carried out. */
export function limitAttempts(
  most: number,
  windowMs: number,
  now: () => number = performance.now.bind(performance),
): Decorator {
  return (next, { name }) => {
    const windows = new Map<string, { from: number; used: number }>();
    return async (args, context) => {
      const at = now();
      for (const [workspace, { from }] of windows) if (at - from >= windowMs) windows.delete(workspace);
      const window = windows.get(context.workspaceId) ?? { from: at, used: 0 };
      windows.set(context.workspaceId, window);
      if (window.used >= most) {
        const seconds = Math.ceil((window.from + windowMs - at) / 1_000);
        return {
          kind: "failed",
          content: `${name} was not run: at most ${most} calls in ${windowMs / 1_000} s; try again in ${seconds} s`,
        };
      }
      window.used += 1;
      return await next(args, context);
    };
  };
}
