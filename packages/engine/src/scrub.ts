import { stringifyExact } from "./exact-text.ts";
import type { Block, ModelReply, ModelRequest } from "./model.ts";
import type { DeltaScrub } from "./stream-deltas.ts";
import type { ToolResult } from "./tool.ts";

/** Takes out of text the values of every secret that a run may have met and that this process holds. */
export interface Scrub {
  text(text: string): string;
  /** For a card: hides what merely looks like a secret, too. Never used for what runs. */
  display(text: string): string;
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
export function scrubResult(scrub: Scrub, result: ToolResult): ToolResult {
  return { ...result, content: scrub.text(result.content) };
}

/** What a model is about to be told: people's words and old records may hold values that were no secrets then. */
export function scrubRequest(scrub: Scrub, request: ModelRequest): ModelRequest {
  return {
    ...request,
    system: scrub.text(request.system),
    messages: request.messages.map(({ role, content }) => ({
      role,
      content: content.flatMap((block) => scrubBlock(scrub, block)),
    })),
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
      return scrub.text(block.json) === block.json ? [block] : [];
  }
}

/** Arguments stay JSON: a value may end in the middle of an escape, or be a number. */
function scrubJson(scrub: Scrub, json: string): string {
  const scrubbed = scrub.text(json);
  if (scrubbed === json || isJson(scrubbed)) return scrubbed;
  const inside = isJson(json) ? JSON.stringify(JSON.parse(json), (_key, value) => scrubValue(scrub, value)) : scrubbed;
  return isJson(inside) && scrub.text(inside) === inside ? inside : stringifyExact(scrubbed);
}

function scrubValue(scrub: Scrub, value: unknown): unknown {
  if (typeof value !== "string" && typeof value !== "number") return value;
  const scrubbed = scrub.text(String(value));
  return scrubbed === String(value) ? value : scrubbed;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
