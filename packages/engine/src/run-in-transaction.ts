import type { Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { boundPreconditions } from "./call-input.ts";
import { capResult } from "./cap-result.ts";
import { commitWithin } from "./commit.ts";
import { isAuditUnavailable } from "./commits/acquire-capability.ts";
import { beginCall } from "./commits/begin-call.ts";
import { completeCall } from "./commits/complete-call.ts";
import type { CallReport, Engine, HeldRun } from "./engine.ts";
import { insist } from "./insist.ts";
import type { Proposal } from "./propose-call.ts";
import type { RecordedCall } from "./run-snapshot.ts";
import { type Chosen, contextOf, limitMsOf, startLimit, timedOut } from "./run-tool.ts";
import { scrubResult } from "./scrub.ts";
import { scrubHeld } from "./scrub-held.ts";
import { beginWithSecondLook, type Start } from "./second-look.ts";
import { noteShown, type Shown } from "./shown.ts";
import { complete, recordAttempt, reportOf, transitionOf } from "./settle-call.ts";
import { checkToolResult } from "./tool-result.ts";
import type { Tool, ToolResult } from "./tool.ts";
import type { RegisteredTool } from "./tools.ts";

/** Time enough for the engine's own statements in a tool's transaction, however short the tool's limit. */
const leastStatementMs = 10_000;

/** What came of it; where nothing did, why it was not begun, or what the tool found changed. */
export type TransactionReport =
  | CallReport
  | { readonly kind: "not_begun"; readonly start: NotBegunStart }
  | { readonly kind: "changed"; readonly content: string };

export type NotBegunStart = Exclude<Start, { kind: "begun" }>;

/** The tool's writes, its re-check and its result are one transaction: exactly once, never unknown. */
export async function runInTransaction(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
  tool: Extract<Tool, { effect: "transactional" }>,
  proposal: Proposal | undefined,
): Promise<TransactionReport> {
  const limitMs = limitMsOf(tool);
  // The rollback has to wait for the statement under way, so that may not take for ever either.
  const bounds = limitMs === undefined ? {} : { statementTimeoutMs: Math.max(limitMs, leastStatementMs) };
  try {
    // Before the transaction: inside, it would wait for a second connection while it holds one.
    const scrub = await scrubHeld(engine, held);
    return await insist(held.abort.signal, () =>
      transaction(
        engine.sql,
        async (tx) => {
          const start = await beginWithSecondLook(held, call, registered, proposal, tx, (transition) =>
            commitWithin(tx, beginCall, transition),
          );
          if (start.kind !== "begun") throw new NotBegun(start);
          const { args, selectedOptionId } = start;
          const preconditions = proposal?.preconditions ?? boundPreconditions(call) ?? [];
          const chosen = { args, selectedOptionId, preconditions };
          const { shown, ...executed } = await executeWithin(tx, held, call, tool, chosen);
          const result = scrubResult(scrub, checkToolResult(executed.result));
          if (result.kind !== "done") throw new Undone(result, shown);
          await noteShown(tx, { workspaceId: held.snapshot.workspaceId, runId: held.hold.runId }, shown);
          const { content, blob } = await capResult(tx, held.snapshot.workspaceId, result.content);
          const transition = transitionOf(held, call, { status: "done", content, blob });
          return reportOf(call, transition, await commitWithin(tx, completeCall, transition));
        },
        bounds,
      ),
    );
  } catch (error) {
    if (error instanceof NotBegun) return { kind: "not_begun", start: error.start };
    if (isAuditUnavailable(error)) return { kind: "not_begun", start: { kind: "audit_unavailable" } };
    // What a refusal names was shown, too, and its own transaction kept nothing of that.
    if (error instanceof Undone)
      await noteShown(engine.sql, { workspaceId: held.snapshot.workspaceId, runId: held.hold.runId }, error.shown);
    if (error instanceof Undone && error.result.kind === "changed") return error.result;
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
  { args, ...chosen }: Chosen & { readonly args: unknown },
): Promise<{ readonly result: ToolResult; readonly shown: Shown }> {
  const limit = startLimit(held, tool);
  const { signal } = limit;
  const cutOff = Promise.withResolvers<ToolResult>();
  signal.addEventListener("abort", () =>
    limit.isReached() ? cutOff.resolve(timedOut(call, limit)) : cutOff.reject(new Error("the run was taken away")),
  );
  try {
    signal.throwIfAborted();
    const context = { ...contextOf(held, call, chosen, signal), tx };
    const result = await Promise.race([tool.execute(args as never, context), cutOff.promise]);
    return { result, shown: context.shown };
  } finally {
    limit.end();
  }
}

class NotBegun extends Error {
  readonly start: NotBegunStart;
  constructor(start: NotBegunStart) {
    super(start.kind);
    this.start = start;
  }
}

/** A transactional tool that did not succeed takes its writes back. */
class Undone extends Error {
  readonly result: ToolResult;
  readonly shown: Shown;
  constructor(result: ToolResult, shown: Shown) {
    super(result.kind);
    this.result = result;
    this.shown = shown;
  }
}
