import { redactShapes } from "@countersign/broker/redact-shapes.ts";
import type { Scrubbers } from "@countersign/broker/run-scrubber.ts";
import type { Engine } from "@countersign/engine/engine.ts";

/** The broker's scrubbers as the engine asks for them. */
export function createScrubberOf(scrubbers: Scrubbers): Engine["scrubberOf"] {
  return async (runId) => {
    const { scrub, createStream } = await scrubbers.scrubberOf(runId);
    return { text: scrub, display: (text) => redactShapes(scrub(text)), createStream };
  };
}
