import { decide } from "@countersign/gate/decide.ts";
import type { Policy, ProposedCall, Verdict } from "@countersign/gate/types.ts";
import { classifiedOf, inputOf } from "./call-input.ts";
import { promptVersion } from "./classifier-prompt.ts";
import type { RecordedCall } from "./run-snapshot.ts";
import type { RegisteredTool } from "./tools.ts";

/** A recorded call as the gate takes it now: with a person's changes, what the classifier said, and the tool as it is here. */
export function proposedCall(call: RecordedCall, registered: RegisteredTool | undefined): ProposedCall {
  const input = inputOf(call);
  return {
    tool: registered?.tool,
    name: call.tool,
    argsText: input.argsText,
    ...(registered === undefined ? {} : { definitionHash: registered.definitionHash }),
    ...classifiedOf(call, input, promptVersion),
  };
}

/** What the gate says of a recorded call as it would run now. */
export function judgeCall(
  call: RecordedCall,
  registered: RegisteredTool | undefined,
  policy: Policy,
  now: Date,
): Verdict {
  return decide(proposedCall(call, registered), policy, now);
}
