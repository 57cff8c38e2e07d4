import type { Policy, ProposedCall, RowName, ToolFacts, Verdict } from "../types.ts";
import type { Unit } from "../unit.ts";
import { attempt, flatten, unitsOfTool } from "./flatten.ts";
import { lines } from "./reference-rows.ts";
import { classified, isClassifiable, type World } from "./reference-world.ts";

/**
 * The decision table a second time, for comparison alone: a list of conditions over a policy that was laid out flat, each
 * read off the table's words, with no thought of speed and nothing shared with the gate but types and the arguments' hash.
 */
export interface ReferenceVerdict {
  readonly row: RowName;
  readonly verdict: Verdict["verdict"];
  /** The reason up to its first `:` or `@`. */
  readonly reason: string;
  /** Of a question: the reasons that hold under every dial, each up to its first `:` or `@`. */
  readonly floors: readonly string[] | undefined;
  readonly classify: boolean;
}

const floorRows: readonly RowName[] = ["7", "10", "11", "12", "13", "14"];

/** A verdict of the gate in the reference's terms. */
export function inTermsOfReference({ row, verdict, reason, floorReasons, classify }: Verdict): ReferenceVerdict {
  const short = (text: string): string => text.split(/[:@]/)[0] ?? "";
  return { row, verdict, reason: short(reason), floors: floorReasons?.map(short), classify: classify === true };
}

/** The verdict on a call of a registered tool with arguments that fit its schema. */
export function referenceVerdict(call: ProposedCall, policy: Policy, now: Date): ReferenceVerdict {
  const { tool } = call;
  if (tool === undefined) throw new Error("the reference knows registered tools alone");
  const args: unknown = JSON.parse(call.argsText);
  const units = unitsOfTool(tool, args);
  const world = worldOf(call, tool, policy, args, units, now);
  const line = lines.find(([, , , holds]) => holds(world));
  if (line === undefined) throw new Error("the last line always holds");
  const [row, verdict, reason] = line;
  const isQuestion = verdict === "ask" || verdict === "pick";
  const asking = floorRows.flatMap((floor) => {
    const held = lines.find(([name, said, , holds]) => name === floor && said === "ask" && holds(world));
    return held ? [held[2]] : [];
  });
  const more = {
    floors: isQuestion ? asking : undefined,
    classify: row === "24" && isClassifiable(world) && classified(world) === undefined,
  };
  const isUnanswered = policy.unattended === "deny" && !policy.canAnybodyAnswer;
  if (verdict === "pick" && isUnanswered) return { row, verdict: "deny", reason: "selection_unbound", ...more };
  if (verdict === "ask" && isUnanswered) return { row: "afterwards", verdict: "deny", reason: "no_approver", ...more };
  return { row, verdict, reason, ...more };
}

function worldOf(
  call: ProposedCall,
  tool: ToolFacts,
  policy: Policy,
  args: unknown,
  units: readonly Unit[] | undefined,
  now: Date,
): World {
  const evaluate = (declared: unknown, failed: unknown) =>
    typeof declared === "function" ? (attempt(() => declared(args), undefined) ?? failed) : declared;
  const tier = String(evaluate(tool.tier, "exec") ?? "exec");
  const risk = evaluate(tool.risk, "unknown");
  const usual = { read: "read-only", write: "high", exec: "unknown" }[tier] ?? "unknown";
  return {
    ...flatten(tool, policy, units, args, now),
    call,
    tool,
    policy,
    args,
    units,
    tier,
    risk: String(risk ?? usual),
    need: evaluate(tool.needsApproval, "error"),
  };
}
