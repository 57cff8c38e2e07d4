import type { Verdict } from "@countersign/gate/types.ts";
import { v7 as uuidv7 } from "uuid";
import type { Card } from "./commits/record-turn.ts";
import { displayText } from "./exact-text.ts";
import type { Question, Tool } from "./tool.ts";

/** What a card shows of a call. Built from the arguments alone, never from what the model says about them. */
export interface CardBody {
  readonly tool: string;
  /** The arguments as JSON text, whole; a person approves what stands here. */
  readonly args: string;
  readonly argsHash: string;
  /** What exactly will happen, line by line, in the tool's words. */
  readonly details: readonly string[];
  /** The row of the decision table that asked, and why. */
  readonly row: string;
  readonly reason: string;
  /** Every reason that holds under any policy; a new one asks again. */
  readonly floorReasons: readonly string[];
  readonly requires: readonly string[];
  /** For an unknown outcome: what is known of the attempt. */
  readonly known?: string;
}

export interface CallOnCard {
  readonly name: string;
  readonly args: string;
  readonly argsHash: string;
  readonly requires: readonly string[];
}

/** Hides secrets in a text for people's eyes. */
type Display = (text: string) => string;

const asItIs: Display = (text) => text;

/** The card of a call that asks for permission; its texts are shown through `display`, what runs stays as it is. */
export function approvalCard(
  call: CallOnCard,
  tool: Tool | undefined,
  verdict: Verdict,
  display: Display = asItIs,
): Card {
  const body = bodyOf(call, tool, verdict, display);
  return { taskId: uuidv7(), title: titleOf(body), body: JSON.stringify(body) };
}

/** The card of a call whose effect nobody can vouch for; `verdict` is what the gate says of running it again. */
export function outcomeCard(
  call: CallOnCard,
  tool: Tool | undefined,
  verdict: Verdict,
  known: string,
  display: Display = asItIs,
): Card {
  const body: CardBody = {
    ...bodyOf(call, tool, verdict, display),
    row: "outcome",
    reason: "outcome_unknown",
    known: displayText(display(known)),
  };
  return { taskId: uuidv7(), title: `Did it happen? ${titleOf(body)}`, body: JSON.stringify(body) };
}

function bodyOf(call: CallOnCard, tool: Tool | undefined, verdict: Verdict, display: Display): CardBody {
  return {
    tool: call.name,
    args: displayText(display(call.args)),
    argsHash: call.argsHash,
    details: detailsOf(tool, verdict.args, display),
    row: verdict.row,
    reason: verdict.reason,
    floorReasons: verdict.floorReasons ?? [],
    requires: call.requires,
  };
}

/** The card of a question. */
export function questionCard(question: Question): Card {
  return { taskId: uuidv7(), title: displayText(question.question, 200), body: "{}" };
}

function titleOf({ tool, details }: CardBody): string {
  return displayText([tool, details[0]].filter(Boolean).join(": "), 200);
}

/** A tool whose `details` fail still gets its card: the arguments are on it whole. */
function detailsOf(tool: Tool | undefined, parsedArgs: unknown, display: Display): string[] {
  try {
    return (tool?.details?.(parsedArgs as never) ?? []).map((line) => displayText(display(line)));
  } catch {
    return [];
  }
}
