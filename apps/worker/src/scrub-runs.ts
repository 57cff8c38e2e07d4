import { redactShapes } from "@countersign/broker/redact-shapes.ts";
import type { Scrubbers } from "@countersign/broker/run-scrubber.ts";
import type { Scrubber } from "@countersign/broker/scrub.ts";
import type { Engine } from "@countersign/engine/engine.ts";
import type { Scrub } from "@countersign/engine/scrub.ts";

/** The broker's scrubbers as the engine asks for them. */
export function createScrubberOf(scrubbers: Scrubbers): Engine["scrubberOf"] {
  // The same scrubber is the same scrub: what was scrubbed with it needs no second look.
  const scrubs = new WeakMap<Scrubber, Scrub>();
  return async (runId, mark) => {
    const scrubber = await scrubbers.scrubberOf(runId, mark);
    const { scrub, createStream } = scrubber;
    const known = scrubs.get(scrubber);
    if (known !== undefined) return known;
    const made = { text: scrub, display: (text: string, key?: string) => redactShapes(scrub(text), key), createStream };
    scrubs.set(scrubber, made);
    return made;
  };
}
