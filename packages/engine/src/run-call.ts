import { checkArguments } from "@countersign/gate/arguments.ts";
import { hashArguments } from "@countersign/gate/canonical.ts";
import { codeOfVerdict, textOfVerdict } from "@countersign/gate/result-codes.ts";
import type { Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { capResult } from "./cap-result.ts";
import { commitWithin } from "./commit.ts";
import { isAuditUnavailable } from "./commits/acquire-capability.ts";
import { beginCall } from "./commits/begin-call.ts";
import { completeCall } from "./commits/complete-call.ts";
import type { CallReport, Engine, HeldRun } from "./engine.ts";
import { insist } from "./insist.ts";
import type { RecordedCall } from "./run-snapshot.ts";
import { contextOf, hasEarlierAttempt, limitMsOf, runTool, startLimit, timedOut } from "./run-tool.ts";
import { scrubResult } from "./scrub.ts";
import { beginWithSecondLook, type Start } from "./second-look.ts";
import { askAnew, becomeUnknown, complete, recordAttempt, refuse, reportOf, transitionOf } from "./settle-call.ts";
import { checkToolResult } from "./tool-result.ts";
import type { Tool, ToolResult } from "./tool.ts";
import type { RegisteredTool } from "./tools.ts";

/** Time enough for the engine's own statements in a tool's transaction, however short the tool's limit. */
const leastStatementMs = 10_000;

/**
 * Takes one call from where it stands to a result: begins it (or finds it begun by the claim), runs its tool, and
 * records what came of it. Every way it can end is a report; it rejects only where the database cannot be reached.
 */
export async function runCall(engine: Engine, held: HeldRun, call: RecordedCall): Promise<CallReport> {
  const registered = engine.tools.get(call.tool);
  if (registered === undefined) {
    return await refuse(engine, held, call, {
      status: "failed",
      content: `this worker has no tool ${call.tool}`,
      code: "tool_not_available",
    });
  }
  if (hashArguments(call.args) !== call.argsHash) {
    return await refuse(engine, held, call, {
      status: "failed",
      content: "the recorded arguments are not those that were judged; they were not run",
      code: "error",
    });
  }
  const { tool } = registered;
  if (tool.effect === "question") throw new Error(`${call.tool} is a question; it is answered, never run`);
  if (tool.effect === "transactional") return await runInTransaction(engine, held, call, registered, tool);

  const isInterrupted = call.status === "executing" && call.epoch !== held.hold.epoch;
  if (isInterrupted && tool.effect === "once" && tool.verify === undefined) {
    return await becomeUnknown(engine, held, call, "the worker that ran it stopped before it could record a result");
  }

  const start = await startCall(engine, held, call, registered);
  if (start.kind !== "begun") return await notBegun(engine, held, call, registered, start);
  return await recordAttempt(engine, held, call, await runTool(engine, held, call, tool, start.args));
}

/** A call that the claim began under this epoch has had its second look; any other gets it now. */
async function startCall(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
): Promise<Start> {
  if (call.status === "executing" && call.epoch === held.hold.epoch) {
    const checked = checkArguments(registered.tool, call.args);
    if (checked.kind === "valid") return { kind: "begun", args: checked.args };
    const reason = `invalid_args:${checked.path}`;
    return { kind: "refused", verdict: { verdict: "invalid", row: "2", reason, detail: checked.detail } };
  }
  try {
    return await beginWithSecondLook(held, call, registered, engine.sql, (transition) =>
      insist(held.abort.signal, () => engine.commit(beginCall, transition)),
    );
  } catch (error) {
    if (isAuditUnavailable(error)) return { kind: "audit_unavailable" };
    throw error;
  }
}

/** The tool's writes, its re-check and its result are one transaction: exactly once, never unknown. */
async function runInTransaction(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
  tool: Extract<Tool, { effect: "transactional" }>,
): Promise<CallReport> {
  const limitMs = limitMsOf(tool);
  // The rollback has to wait for the statement under way, so that may not take for ever either.
  const bounds = limitMs === undefined ? {} : { statementTimeoutMs: Math.max(limitMs, leastStatementMs) };
  try {
    // Before the transaction: inside, it would wait for a second connection while it holds one.
    const scrub = await insist(held.abort.signal, () => engine.scrubberOf(held.hold.runId));
    return await insist(held.abort.signal, () =>
      transaction(
        engine.sql,
        async (tx) => {
          const start = await beginWithSecondLook(held, call, registered, tx, (transition) =>
            commitWithin(tx, beginCall, transition),
          );
          if (start.kind !== "begun") throw new NotBegun(start);
          const returned = checkToolResult(await executeWithin(tx, held, call, tool, start.args));
          const result = scrubResult(scrub, returned);
          if (result.kind !== "done") throw new Undone(result);
          const { content, blob } = await capResult(tx, held.snapshot.workspaceId, result.content);
          const transition = transitionOf(held, call, { status: "done", content, blob });
          return reportOf(call, transition, await commitWithin(tx, completeCall, transition));
        },
        bounds,
      ),
    );
  } catch (error) {
    if (error instanceof NotBegun) return await notBegun(engine, held, call, registered, error.start);
    if (isAuditUnavailable(error)) return await notBegun(engine, held, call, registered, { kind: "audit_unavailable" });
    if (error instanceof Undone)
      return await recordAttempt(engine, held, call, { code: "error", ...error.result, kind: "failed" });
    if (held.abort.signal.aborted) return { callId: call.id, kind: "lost" };
    engine.report({ kind: "tool.failed", runId: held.hold.runId, tool: call.tool, error });
    return await complete(engine, held, call, {
      status: "failed",
      content: "the tool failed; nothing of it was stored",
      code: "error",
    });
  }
}

/** Executes a tool for as long as it may take; afterwards, or once the run is not ours, its transaction is taken back. */
async function executeWithin(
  tx: Tx,
  held: HeldRun,
  call: RecordedCall,
  tool: Extract<Tool, { effect: "transactional" }>,
  args: unknown,
): Promise<ToolResult> {
  const limit = startLimit(held, tool);
  const { signal } = limit;
  const cutOff = Promise.withResolvers<ToolResult>();
  signal.addEventListener("abort", () =>
    limit.isReached() ? cutOff.resolve(timedOut(call, limit)) : cutOff.reject(new Error("the run was taken away")),
  );
  try {
    signal.throwIfAborted();
    return await Promise.race([tool.execute(args as never, { ...contextOf(held, call, signal), tx }), cutOff.promise]);
  } finally {
    limit.end();
  }
}

class NotBegun extends Error {
  readonly start: Exclude<Start, { kind: "begun" }>;
  constructor(start: Exclude<Start, { kind: "begun" }>) {
    super(start.kind);
    this.start = start;
  }
}

/** A transactional tool that did not succeed takes its writes back. */
class Undone extends Error {
  readonly result: ToolResult;
  constructor(result: ToolResult) {
    super(result.kind);
    this.result = result;
  }
}

async function notBegun(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
  start: Exclude<Start, { kind: "begun" }>,
): Promise<CallReport> {
  switch (start.kind) {
    case "held":
    case "lost":
      return { callId: call.id, kind: start.kind };
    case "settled":
      return { callId: call.id, kind: "settled", hasNews: true };
    case "audit_unavailable":
      return await refuse(engine, held, call, {
        status: "failed",
        content: `${call.tool} was not run: the audit of ${call.requires.join(", ")} cannot be written at the moment, so no credential is given out. Reading goes on; try again later.`,
        code: "audit_unavailable",
      });
    case "ask":
      if (hasEarlierAttempt(held, call))
        return await becomeUnknown(engine, held, call, "a further attempt needs a person's word");
      return await askAnew(engine, held, call, registered, start.verdict);
    case "refused": {
      const code = codeOfVerdict(start.verdict) ?? "policy_denied";
      const content = textOfVerdict(start.verdict, call.tool) ?? code;
      const status = start.verdict.verdict === "invalid" ? "failed" : "denied";
      return await refuse(engine, held, call, { status, content, code });
    }
  }
}
