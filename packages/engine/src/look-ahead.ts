import { codeOfVerdict } from "@countersign/gate/result-codes.ts";
import type { CallReport, Engine, HeldRun } from "./engine.ts";
import { judgeCall } from "./judge-call.ts";
import { policyOf, timeOf } from "./policy.ts";
import { type Proposal, proposeCall } from "./propose-call.ts";
import type { RecordedCall } from "./run-snapshot.ts";
import { hasEarlierAttempt } from "./run-tool.ts";
import { scrubResult } from "./scrub.ts";
import { scrubHeld } from "./scrub-held.ts";
import { askAnew, becomeUnknown, complete, refuse } from "./settle-call.ts";
import type { RegisteredTool } from "./tools.ts";

/** What a call would do; or that it is settled, since it cannot be done. */
export type Look =
  | { readonly kind: "looked"; readonly proposal: Proposal | undefined }
  | { readonly kind: "settled"; readonly report: CallReport };

/**
 * What the call would do, where its tool proposes and the gate does not refuse it anyway. One that was begun has been
 * looked at; where an earlier attempt may have done it, the tool first asks the world outside whether it did.
 */
export async function lookAhead(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
): Promise<Look> {
  const { tool } = registered;
  const isBegun = call.status === "executing" && call.epoch === held.hold.epoch;
  const asksOutside = "verify" in tool && tool.verify !== undefined && hasEarlierAttempt(held, call);
  if (tool.propose === undefined || isBegun || asksOutside) return { kind: "looked", proposal: undefined };
  const verdict = judgeCall(call, registered, policyOf(held.snapshot, held.definition), timeOf(held.snapshot));
  const isRefused = codeOfVerdict(verdict) !== undefined && verdict.row !== "afterwards";
  if (isRefused || verdict.verdict === "held") return { kind: "looked", proposal: undefined };

  const said = await proposeCall(engine, held, call, tool, verdict.args);
  switch (said.kind) {
    case "proposed":
      return { kind: "looked", proposal: said };
    case "abandoned":
      return { kind: "settled", report: { callId: call.id, kind: "lost" } };
    case "failed": {
      const scrub = await scrubHeld(engine, held);
      const { content } = scrubResult(scrub, said);
      return {
        kind: "settled",
        report: await refuse(engine, held, call, { status: "failed", content, code: "error" }),
      };
    }
  }
}

/**
 * A tool found at the moment of writing that something is not as a person, or it itself, had seen it, and did nothing. What
 * a person agreed to is put before them anew; a call that ran unasked fails, and the model may look again.
 */
export async function askOfChanged(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
  why: string,
): Promise<CallReport> {
  const policy = policyOf(held.snapshot, held.definition);
  const verdict = judgeCall(call, registered, policy, timeOf(held.snapshot));
  const scrub = await scrubHeld(engine, held);
  const { content } = scrubResult(scrub, { kind: "failed", content: `nothing was done: ${why}` });
  const isAsked = verdict.verdict === "ask" || verdict.verdict === "pick";
  if (!isAsked) return await complete(engine, held, call, { status: "failed", content, code: "error" });
  if (hasEarlierAttempt(held, call)) return await becomeUnknown(engine, held, call, content);
  const said = await proposeCall(engine, held, call, registered.tool, verdict.args);
  if (said.kind === "abandoned") return { callId: call.id, kind: "lost" };
  if (said.kind === "failed") {
    return await complete(engine, held, call, {
      status: "failed",
      content: scrubResult(scrub, said).content,
      code: "error",
    });
  }
  const reason = `precondition_changed:${scrub.text(why)}`;
  return await askAnew(engine, held, call, registered, { ...verdict, reason }, { proposal: said, isUndone: true });
}
