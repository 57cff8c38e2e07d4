import type { ContentBlock, RawMessageStreamEvent, StopReason, Usage } from "@anthropic-ai/sdk/resources/messages";
import type { Delta, ModelReply } from "@countersign/engine/model.ts";
import { providerName } from "./build-request.ts";
import type { TokenCounts } from "./model-facts.ts";

/** What a stream gave from its first event to its last. */
export interface ReadReply {
  readonly content: ModelReply["content"];
  readonly stopReason: StopReason | null;
  readonly tokens: TokenCounts;
}

/** A block under way: what was announced, and the texts of its deltas. */
interface OpenBlock {
  readonly block: ContentBlock;
  text: string;
  argsText: string;
  signature: string;
}

/**
 * Reads a stream to its end and tells `onDelta` of it on the way. Arguments of a tool use are kept as the text they came
 * in; blocks that are not for us to read (thinking) are kept whole. Resolves with undefined where the stream ends before
 * its last event: what came until then is half an answer.
 */
export async function readReply(
  events: AsyncIterable<RawMessageStreamEvent>,
  nameOf: (apiName: string) => string,
  onDelta: (delta: Delta) => void,
): Promise<ReadReply | undefined> {
  const open = new Map<number, OpenBlock>();
  let usage: Partial<Usage> = {};
  let stopReason: StopReason | null = null;
  let isWhole = false;

  for await (const event of events) {
    switch (event.type) {
      case "message_start":
        usage = event.message.usage;
        break;
      case "content_block_start":
        open.set(event.index, { block: event.content_block, text: "", argsText: "", signature: "" });
        if (event.content_block.type === "tool_use")
          onDelta({ kind: "tool_use", tool: nameOf(event.content_block.name) });
        break;
      case "content_block_delta": {
        const block = open.get(event.index);
        if (block !== undefined) addDelta(block, event.delta, onDelta);
        break;
      }
      case "message_delta":
        stopReason = event.delta.stop_reason;
        usage = { ...usage, ...withoutNulls(event.usage) };
        break;
      case "message_stop":
        isWhole = true;
        break;
      default:
        break;
    }
  }
  if (!isWhole) return undefined;

  const blocks = [...open.entries()].toSorted(([one], [other]) => one - other).map(([, block]) => block);
  return {
    content: blocks.map((block, index) =>
      blockOf(block, nameOf, stopReason === "max_tokens" && index === blocks.length - 1),
    ),
    stopReason,
    tokens: {
      input: usage.input_tokens ?? 0,
      output: usage.output_tokens ?? 0,
      cacheWrite: usage.cache_creation_input_tokens ?? 0,
      cacheRead: usage.cache_read_input_tokens ?? 0,
    },
  };
}

type BlockDelta = Extract<RawMessageStreamEvent, { type: "content_block_delta" }>["delta"];

function addDelta(block: OpenBlock, delta: BlockDelta, onDelta: (delta: Delta) => void): void {
  switch (delta.type) {
    case "text_delta":
      block.text += delta.text;
      onDelta({ kind: "text", text: delta.text });
      break;
    case "thinking_delta":
      block.text += delta.thinking;
      onDelta({ kind: "thinking", text: delta.thinking });
      break;
    case "input_json_delta":
      block.argsText += delta.partial_json;
      break;
    case "signature_delta":
      block.signature += delta.signature;
      break;
    default:
      break;
  }
}

function blockOf(
  { block, text, argsText, signature }: OpenBlock,
  nameOf: (apiName: string) => string,
  isCutOff: boolean,
): ModelReply["content"][number] {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text + text };
    case "tool_use": {
      // No text at all is how a tool without arguments is asked for; where the output was cut off it says nothing.
      const whole = argsText === "" && !isCutOff ? JSON.stringify(block.input) : argsText;
      return { type: "tool_use", id: block.id, name: nameOf(block.name), argsText: whole };
    }
    case "thinking":
      return opaque({ ...block, thinking: block.thinking + text, signature: block.signature + signature });
    default:
      return opaque(block);
  }
}

function opaque(block: ContentBlock): ModelReply["content"][number] {
  return { type: "opaque", provider: providerName, json: JSON.stringify(block) };
}

/** A count that the last event leaves open stands as the first one gave it. */
function withoutNulls(usage: object): Partial<Usage> {
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== null));
}
