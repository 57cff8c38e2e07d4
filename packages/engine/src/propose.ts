import { hashArguments } from "@countersign/gate/canonical.ts";
import { decide } from "@countersign/gate/decide.ts";
import { codeOfVerdict, textOfVerdict } from "@countersign/gate/result-codes.ts";
import type { Policy, Verdict } from "@countersign/gate/types.ts";
import { v7 as uuidv7 } from "uuid";
import { approvalCard, questionCard } from "./card.ts";
import type { NewCall } from "./commits/record-turn.ts";
import type { Definition } from "./definition.ts";
import { displayText, storableJson, stringifyExact } from "./exact-text.ts";
import type { Block } from "./model.ts";
import type { Scrub } from "./scrub.ts";
import type { Question, Tool } from "./tool.ts";
import type { Tools } from "./tools.ts";

type ToolUse = Extract<Block, { type: "tool_use" }>;

/** `held`: a kill switch reaches the run, so nothing of the turn may be recorded. */
export type Proposal =
  | { readonly kind: "calls"; readonly calls: readonly NewCall[] }
  | { readonly kind: "held"; readonly reason: string };

/**
 * Puts the tool uses of one turn before the gate, each on its own: denied and invalid ones get their result, gated ones
 * their approval and card, questions theirs, and the rest go on to their second look: those that may run, and those of
 * which something has to be found out before anybody is asked. Those that are more than the run may make, which has made
 * `callCount`, are not begun. Nothing is written. Cards show texts through `display`, and apart from all else the model's
 * `narration`.
 */
export function proposeCalls(
  uses: readonly ToolUse[],
  definition: Definition,
  policy: Policy,
  tools: Tools,
  now: Date,
  callCount: number,
  narration: string,
  display?: Scrub["display"],
): Proposal {
  const calls: NewCall[] = [];
  for (const [position, use] of uses.entries()) {
    const registered = tools.get(use.name);
    const definitionHash = registered?.definitionHash ?? "";
    const verdict = decide(
      { tool: registered?.tool, name: use.name, argsText: use.argsText, ...(registered && { definitionHash }) },
      policy,
      now,
    );
    if (verdict.verdict === "held") return { kind: "held", reason: verdict.reason };
    const call = {
      id: uuidv7(),
      position,
      providerId: use.id,
      tool: displayText(use.name, 200),
      args: storableJson(use.argsText),
      argsHash: hashArguments(use.argsText),
      definitionHash,
      effect: registered?.tool.effect ?? "read-only",
      requires: registered?.tool.requires ?? [],
      verdict: verdict.classify === true ? "classify" : verdict.verdict,
      gateRow: verdict.row,
      gateReason: displayText(verdict.reason, 1_000),
      policyVersions: policy.versions,
    } as const;
    const next =
      callCount + position < definition.limits.toolCalls
        ? nextOf(call, use, verdict, definition, tools, narration, display)
        : overLimit(definition);
    calls.push({ ...call, next });
  }
  return { kind: "calls", calls };
}

function overLimit({ limits }: Definition): NewCall["next"] {
  const text = `not run: this run may make ${limits.toolCalls} tool calls, and this would be one more`;
  return { kind: "settled", status: "failed", result: stringifyExact(text), code: "error" };
}

function nextOf(
  call: { readonly args: string; readonly argsHash: string; readonly requires: readonly string[] },
  use: ToolUse,
  verdict: Verdict,
  definition: Definition,
  tools: Tools,
  narration: string,
  display?: Scrub["display"],
): NewCall["next"] {
  if (isDeferred(verdict, tools.get(use.name)?.tool)) return { kind: "run" };
  const code = codeOfVerdict(verdict);
  if (code !== undefined) {
    const status = verdict.verdict === "invalid" ? "failed" : "denied";
    return { kind: "settled", status, result: stringifyExact(textOfVerdict(verdict, use.name) ?? code), code };
  }
  const tool = tools.get(use.name)?.tool;
  if (verdict.verdict === "allow") {
    if (tool?.effect !== "question") return { kind: "run" };
    const question = shownQuestion(tool.question(verdict.args as never));
    return { kind: "question", questionId: uuidv7(), card: questionCard(question, display), question };
  }
  const card = approvalCard({ name: use.name, ...call, narration }, tool, verdict, display);
  return { kind: "approval", approvalId: uuidv7(), card, expiresMs: definition.approvalExpiresMs };
}

/**
 * What has to be found out before a person is asked, outside of any commit: what the call would do, or what the classifier
 * says of it. A choice is put before a person in the commit that follows, which keeps what there is to choose from.
 */
function isDeferred(verdict: Verdict, tool: Tool | undefined): boolean {
  if (verdict.classify === true || verdict.verdict === "pick") return true;
  return verdict.verdict === "ask" && tool?.propose !== undefined;
}

function shownQuestion(question: Question): Question {
  return {
    ...question,
    question: displayText(question.question),
    options: question.options.map((option) => displayText(option)),
    context: question.context === undefined ? undefined : displayText(question.context),
    defaultAnswer: question.defaultAnswer === undefined ? undefined : displayText(question.defaultAnswer),
  };
}
