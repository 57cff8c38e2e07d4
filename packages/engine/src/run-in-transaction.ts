import type { Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { boundPreconditions } from "./call-input.ts";
import { type CappedResult, capResult } from "./cap-result.ts";
import { commitWithin } from "./commit.ts";
import { isAuditUnavailable } from "./commits/acquire-capability.ts";
import { beginCall } from "./commits/begin-call.ts";
import { completeCall } from "./commits/complete-call.ts";
import type { CallReport, Engine, HeldRun } from "./engine.ts";
import { insist } from "./insist.ts";
import type { Proposal } from "./propose-call.ts";
import type { RecordedCall } from "./run-snapshot.ts";
import { type Chosen, contextOf, limitMsOf, startLimit, timedOut } from "./run-tool.ts";
import { type Scrub, scrubResult } from "./scrub.ts";
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

/**
 * The tool's writes, its begin and its result are one transaction: exactly once, never unknown. The begin comes last, so
 * that neither the run nor its policy is locked while the tool works: its lease is renewed, and cancel, kill switch and
 * whoever else acts on the run do not wait for it but take its writes back. Such calls of one run go one after the other.
 */
export async function runInTransaction(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
  tool: Extract<Tool, { effect: "transactional" }>,
  proposal: Proposal | undefined,
): Promise<TransactionReport> {
  const turn = held.lastWrite.then(() => runNext(engine, held, call, registered, tool, proposal));
  held.lastWrite = turn.catch(() => undefined);
  return await turn;
}

async function runNext(
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
          let worked: Worked | undefined;
          const start = await beginWithSecondLook(held, call, registered, proposal, tx, async (transition, begun) => {
            // Judged again, what was picked may be another option: then all of it is done anew.
            if (worked !== undefined && worked.selectedOptionId !== begun.selectedOptionId) return { kind: "settled" };
            worked ??= await workWithin(tx, held, call, tool, begun, proposal, scrub);
            return await commitWithin(tx, beginCall, transition);
          });
          if (start.kind !== "begun") throw new NotBegun(start);
          if (worked === undefined) throw new Error(`${call.tool} writes, so it has to be begun`);
          const transition = transitionOf(held, call, { status: "done", ...worked.stored });
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

/** What a tool that succeeded did within its transaction, and for which option. */
interface Worked {
  readonly selectedOptionId: string | undefined;
  readonly stored: CappedResult;
}

/** Works, and throws Undone where the tool did not succeed. */
async function workWithin(
  tx: Tx,
  held: HeldRun,
  call: RecordedCall,
  tool: Extract<Tool, { effect: "transactional" }>,
  { args, selectedOptionId }: Extract<Start, { kind: "begun" }>,
  proposal: Proposal | undefined,
  scrub: Scrub,
): Promise<Worked> {
  const preconditions = proposal?.preconditions ?? boundPreconditions(call) ?? [];
  const { shown, ...executed } = await executeWithin(tx, held, call, tool, { args, selectedOptionId, preconditions });
  const result = scrubResult(scrub, checkToolResult(executed.result));
  if (result.kind !== "done") throw new Undone(result, shown);
  const { workspaceId } = held.snapshot;
  await noteShown(tx, { workspaceId, runId: held.hold.runId }, shown);
  return { selectedOptionId, stored: await capResult(tx, workspaceId, result.content) };
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
