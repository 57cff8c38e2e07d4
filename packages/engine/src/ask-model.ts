import type { Engine } from "./engine.ts";
import { insist } from "./insist.ts";
import type { Delta, ModelReply, ModelRequest } from "./model.ts";
import { checkReply } from "./model-reply.ts";
import { type Scrub, scrubReply, scrubRequest as scrubWhole, type ScrubRequest } from "./scrub.ts";

export interface Asking {
  readonly signal: AbortSignal;
  /** The ids of tool uses that the run has had. */
  readonly usedIds: ReadonlySet<string>;
  readonly onDelta?: (delta: Delta) => void;
  /** The scrub of the run at the moment it is called; unless stated the engine is asked for it. */
  readonly scrub?: () => Promise<Scrub>;
  /** Where the request is the next of a conversation, what it was scrubbed with before. */
  readonly scrubRequest?: ScrubRequest;
}

/**
 * Asks the model with no secret in what it is told; answers with what it said, checked, and with none in that either.
 * Rejects as `engine.model` does, and with `invalid_model_output`.
 */
export async function askModel(
  engine: Engine,
  request: ModelRequest,
  { signal, usedIds, onDelta, scrubRequest = scrubWhole, ...asking }: Asking,
): Promise<ModelReply> {
  // A database that is away for a moment is no reason for the run to fail.
  const { scrub = () => insist(signal, () => engine.scrubberOf(request.runId)) } = asking;
  const told = scrubRequest(await scrub(), request);
  const reply = checkReply(await engine.model(told, signal, onDelta), usedIds);
  // Anew: secrets were opened meanwhile, the provider's own key among them.
  return scrubReply(await scrub(), reply);
}
