import { acquireCapability, isAuditUnavailable } from "./commits/acquire-capability.ts";
import { CapabilityRefused, type Engine, type HeldRun } from "./engine.ts";
import type { RecordedCall } from "./run-snapshot.ts";
import { nothingShown, readShown } from "./shown.ts";
import { checkToolResult } from "./tool-result.ts";
import type { CallContext, OutsideContext, Tool, ToolResult } from "./tool.ts";

/** How long one attempt may take where the tool says nothing. */
const defaultTimeoutMs = 180_000;

/** How long an aborted tool has to come to an end and say what it knows. */
const abortGraceMs = 2_000;

/** `abandoned`: the run was taken out of our hands before the tool said anything. */
export type Attempt = ToolResult | { readonly kind: "abandoned" };

type OutsideTool = Extract<Tool, { effect: "read-only" | "idempotent" | "once" }>;

/**
 * One attempt of a tool outside a transaction. Never rejects: a timeout is a result with its code, an error a failed
 * result, and for a tool whose effect can happen only once, `unknown`, since nobody can tell how far it came.
 */
export async function runTool(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  tool: OutsideTool,
  { args, ...chosen }: Chosen & { readonly args: unknown },
): Promise<Attempt> {
  const limit = startLimit(held, tool);
  const { signal } = limit;
  const handles = lendHandles(engine, held, call);
  const attempt = settleAttempt(
    tool,
    attemptTool(engine, held, call, tool, args, chosen, { ...handles, signal }),
    { ...handles, signal },
    (error) => engine.report({ kind: "tool.failed", runId: held.hold.runId, tool: call.tool, error }),
  );
  try {
    const result = await Promise.race([attempt, endOfPatience(signal)]);
    if (result !== undefined && !(signal.aborted && result.kind === "failed")) return result;
    if (!limit.isReached())
      return tool.effect === "once" ? unknown("it was stopped before it answered") : { kind: "abandoned" };
    return tool.effect === "once" ? unknown(`it did not answer within ${limit.seconds} s`) : timedOut(call, limit);
  } finally {
    limit.end();
    held.acquisitions += call.requires.length;
  }
}

/** The clock of one attempt. `signal` is aborted when its time is up, and with the run; `end` must be called. */
interface Limit {
  readonly signal: AbortSignal;
  /** Undefined where the tool has none. */
  readonly seconds: number | undefined;
  isReached(): boolean;
  end(): void;
}

/** How long one attempt of a tool may take; undefined where it has no limit. */
export function limitMsOf(tool: Tool): number | undefined {
  return tool.longRunning === true ? undefined : (tool.timeoutMs ?? defaultTimeoutMs);
}

/** Starts the clock of one attempt. */
export function startLimit(held: HeldRun, tool: Tool): Limit {
  const timeout = new AbortController();
  const ms = limitMsOf(tool);
  const timer = ms === undefined ? undefined : setTimeout(() => timeout.abort(), ms);
  return {
    signal: AbortSignal.any([held.abort.signal, timeout.signal]),
    seconds: ms === undefined ? undefined : ms / 1_000,
    isReached: () => timeout.signal.aborted,
    end: () => clearTimeout(timer),
  };
}

/** The result of a call whose tool did not come to an end in time. */
export function timedOut(call: RecordedCall, { seconds }: Limit): ToolResult {
  return {
    kind: "failed",
    code: "timeout",
    content: `${call.tool} did not answer within ${seconds} s and was stopped`,
  };
}

/** The credentials of one attempt; `wasUsed` says whether any of them was given out. */
function lendHandles(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
): Pick<OutsideContext, "acquire"> & { wasUsed(): boolean } {
  let wasUsed = false;
  return {
    wasUsed: () => wasUsed,
    async acquire(capability) {
      if (!call.requires.includes(capability))
        throw new CapabilityRefused(`${call.tool} does not require ${capability}`);
      const handle = await engine.openCapability({
        workspaceId: held.snapshot.workspaceId,
        runId: held.hold.runId,
        callId: call.id,
        capability,
        renew: () => renewCapability(engine, held, call, capability),
      });
      held.acquisitions += 1;
      return {
        use: (body) =>
          handle.use((secret) => {
            wasUsed = true;
            return body(secret);
          }),
      };
    },
  };
}

/** Acquires a capability again for a call under way, in a commit with its own audit row. */
async function renewCapability(
  engine: Engine,
  { hold }: HeldRun,
  { id: callId }: RecordedCall,
  capability: string,
): Promise<"renewed" | "refused" | "audit_unavailable"> {
  try {
    const { kind } = await engine.commit(acquireCapability, { ...hold, callId, capability });
    return kind === "acquired" || kind === "renewed" ? "renewed" : "refused";
  } catch (error) {
    if (isAuditUnavailable(error)) return "audit_unavailable";
    throw error;
  }
}

/** Asks first whether an interrupted attempt happened, where the tool can tell. */
async function attemptTool(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  tool: OutsideTool,
  args: unknown,
  chosen: Chosen,
  { acquire, signal }: Pick<OutsideContext, "acquire" | "signal">,
): Promise<ToolResult> {
  const told = contextOf(held, call, chosen, signal);
  const context: OutsideContext = {
    ...told,
    acquire,
    read: (body) => readShown(engine.sql, told, told.shown, body),
  };
  if (hasEarlierAttempt(held, call) && tool.effect !== "read-only" && tool.verify !== undefined) {
    const found = await tool.verify(args as never, context);
    if (found.kind !== "absent" && !(found.kind === "unknown" && isSaidAgain(call))) return found;
  }
  return await tool.execute(args as never, context);
}

/** Whether the call was started before. One that the claim began under this epoch counts its present attempt already. */
export function hasEarlierAttempt(held: HeldRun, call: RecordedCall): boolean {
  const isCounted = call.status === "executing" && call.epoch === held.hold.epoch;
  return call.attempt > (isCounted ? 1 : 0);
}

/** A person who knew that nobody could tell said to run it again, and this is that attempt: no worker has begun it yet. */
function isSaidAgain(call: RecordedCall): boolean {
  return call.status === "requested" && call.approval?.answer === "retry";
}

/** Undefined where the tool threw because it was stopped: that says nothing of how far it came. */
async function settleAttempt(
  tool: Tool,
  attempt: Promise<ToolResult>,
  { signal, wasUsed }: { readonly signal: AbortSignal; wasUsed(): boolean },
  report: (error: unknown) => void,
): Promise<ToolResult | undefined> {
  try {
    return checkToolResult(await attempt);
  } catch (error) {
    if (signal.aborted) return undefined;
    if (error instanceof CapabilityRefused) {
      // Refused at its first use, nothing has happened; after one that began, nobody can tell how far that came.
      if (tool.effect === "once" && wasUsed()) return unknown(`it was refused in the middle: ${error.message}`);
      return { kind: "failed", code: "error", content: error.message };
    }
    report(error);
    // The error's own text may quote URLs, headers and inputs, so it is not passed on.
    const what = "the tool failed with an error of its own";
    return tool.effect === "once" ? unknown(what) : { kind: "failed", code: "error", content: what };
  }
}

/** What a person agreed to or picked, and a tool is told beside the arguments. */
export type Chosen = Pick<CallContext, "preconditions" | "selectedOptionId">;

/** What every tool is told about the call it serves. */
export function contextOf(held: HeldRun, call: RecordedCall, chosen: Chosen, signal: AbortSignal): CallContext {
  return {
    ...chosen,
    workspaceId: held.snapshot.workspaceId,
    runId: held.hold.runId,
    callId: call.id,
    userId: held.snapshot.startedBy,
    idempotencyKey: call.id,
    signal,
    shown: nothingShown(),
  };
}

function unknown(content: string): ToolResult {
  return { kind: "unknown", content };
}

async function endOfPatience(signal: AbortSignal): Promise<undefined> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  await new Promise((resolve) => setTimeout(resolve, abortGraceMs));
}
