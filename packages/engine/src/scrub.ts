import { stringifyExact } from "./exact-text.ts";
import type { Block, Message, ModelReply, ModelRequest } from "./model.ts";
import type { DeltaScrub } from "./stream-deltas.ts";
import type { ToolResult } from "./tool.ts";

/** Takes out of text the values of every secret that a run may have met and that this process holds. */
export interface Scrub {
  text(text: string): string;
  /**
   * For a card: hides what merely looks like a secret, too, and of a text that stands in JSON what its key says to be
   * one. Never used for what runs.
   */
  display(text: string, key?: string): string;
  /** For text that comes in pieces. */
  createStream(): DeltaScrub;
}

/** Leaves everything as it is: for a process that opens no secrets. */
export const scrubNothing: Scrub = {
  text: (text) => text,
  display: (text) => text,
  createStream: () => ({ push: (piece) => piece, end: () => "" }),
};

/** A tool's result, before it is capped, stored or told to anybody. */
export function scrubResult<R extends ToolResult>(scrub: Scrub, result: R): R {
  return { ...result, content: scrub.text(result.content) };
}

/** What a model is about to be told: people's words and old records may hold values that were no secrets then. */
export type ScrubRequest = (scrub: Scrub, request: ModelRequest) => ModelRequest;

/** Scrubs a request as a whole. */
export const scrubRequest: ScrubRequest = (scrub, request) => createScrubRequest()(scrub, request);

/** For the turns of one conversation: with the same scrub, messages that were in the request before are not read again. */
export function createScrubRequest(): ScrubRequest {
  let by: Scrub | undefined;
  let before: readonly Message[] = [];
  let scrubbed: readonly Message[] = [];

  return (scrub, request) => {
    if (scrub !== by) before = [];
    const messages = request.messages.map((message, index): Message =>
      before[index] === message
        ? (scrubbed[index] as Message)
        : { role: message.role, content: message.content.flatMap((block) => scrubBlock(scrub, block)) },
    );
    by = scrub;
    before = request.messages;
    scrubbed = messages;
    return { ...request, system: scrub.text(request.system), messages };
  };
}

/** What a model said, before the gate judges and anything records it: cards, questions and arguments come of this. */
export function scrubReply(scrub: Scrub, reply: ModelReply): ModelReply {
  return { ...reply, content: reply.content.flatMap((block) => scrubBlock(scrub, block)) };
}

function scrubBlock<B extends Block>(scrub: Scrub, block: B): B[] {
  switch (block.type) {
    case "text":
      return [{ ...block, text: scrub.text(block.text) }];
    case "tool_use":
      return [{ ...block, name: scrub.text(block.name), argsText: scrubJson(scrub, block.argsText) }];
    case "tool_result":
      return [{ ...block, content: scrub.text(block.content) }];
    case "opaque":
      // It is signed as a whole, so it goes as a whole.
      return scrubJson(scrub, block.json) === block.json ? [block] : [];
  }
}

/** Arguments stay JSON, whose strings are looked at as what they mean, too: escaped, a value that is escaped itself is hidden. */
function scrubJson(scrub: Scrub, json: string): string {
  let isFound = false;
  const inside = mapStrings(json, (text) => {
    const scrubbed = scrub.text(text);
    isFound ||= scrubbed !== text;
    return scrubbed;
  });
  const meant = isFound && inside !== undefined ? inside : json;
  const scrubbed = scrub.text(meant);
  // A value may end in the middle of an escape; what is no JSON any more is no arguments, and is refused as such.
  return scrubbed === meant || isJson(scrubbed) || inside === undefined ? scrubbed : stringifyExact(scrubbed);
}

/** The JSON with each string, and each number that `map` changes, replaced; undefined where it is none, or too deep to be written again. */
function mapStrings(json: string, map: (text: string) => string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(json), (_key, value: unknown) => {
      if (typeof value === "string") return map(value);
      if (typeof value !== "number") return value;
      const mapped = map(String(value));
      return mapped === String(value) ? value : mapped;
    });
  } catch {
    return undefined;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
