import type { Classified } from "@countersign/gate/types.ts";
import type { RecordedCall } from "./run-snapshot.ts";
import type { Precondition } from "./tool.ts";

/** The arguments that a call runs with, as JSON text, and their hash. */
export interface CallInput {
  readonly argsText: string;
  readonly argsHash: string;
  /** A person changed what the model wrote. */
  readonly isEdited: boolean;
}

/** What the call runs with: what the model wrote, unless a person changed it when approving, now or on an earlier card. */
export function inputOf(call: RecordedCall): CallInput {
  const approved = call.approval?.status === "approved" ? call.approval.choice : null;
  if (approved?.editedArgs != null && approved.editedArgsHash !== null)
    return { argsText: approved.editedArgs, argsHash: approved.editedArgsHash, isEdited: true };
  const amended = call.amended ?? null;
  if (amended?.args != null && amended.argsHash !== null)
    return { argsText: amended.args, argsHash: amended.argsHash, isEdited: true };
  return { argsText: call.args, argsHash: call.argsHash, isEdited: false };
}

/** The option that a person picked for the call. */
export function pickedOption(call: RecordedCall): string | undefined {
  const approved = call.approval?.status === "approved" ? call.approval.choice : null;
  return approved?.selectedOption ?? call.amended?.selectedOption ?? undefined;
}

/** What the preview rested on that a person saw before deciding; undefined where there was none. */
export function boundPreconditions(call: RecordedCall): readonly Precondition[] | undefined {
  const text = call.approval?.choice?.preconditions ?? null;
  return text === null ? undefined : (JSON.parse(text) as readonly Precondition[]);
}

/** What the classifier said of exactly these arguments, asked with exactly this prompt. */
export function classifiedOf(
  call: RecordedCall,
  { argsHash }: CallInput,
  promptVersion: number,
): { readonly classified?: Classified } {
  const stored = call.amended?.classified ?? null;
  if (stored === null || stored.argsHash !== argsHash || stored.promptVersion !== promptVersion) return {};
  return { classified: stored };
}
