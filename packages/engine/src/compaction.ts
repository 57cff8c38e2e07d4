import { type Summary, buildMessages, latestSummary } from "./prompt.ts";
import type { LoggedMessage, RecordedCall, RunSnapshot } from "./run-snapshot.ts";
import { focusOf, summarizeContextName } from "./summarize-context.ts";

type Conversation = Pick<RunSnapshot, "messages" | "calls" | "steers">;

/** Where a conversation is to be cut: what lies up to `upToSeq` is summarized, the rest stays as it is. */
export interface Cut {
  readonly upToSeq: number;
  /** What the agent asked the summary to keep. */
  readonly focus: string | undefined;
}

export interface ContextSize {
  /** The most that the model takes, prompt and reply together. */
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  /** Bytes of what every prompt holds besides the conversation: instructions and tools. */
  readonly fixedBytes: number;
}

/** A token is rarely less; of Chinese or code it is about this much. */
const bytesPerToken = 3;

/** So full may the room for the prompt be before it is made smaller, and so much of it stays as it was. */
const fullShare = 0.85;
const tailShare = 0.25;

/**
 * The cut that is due before the model is asked again: because the agent asked for it in its last turn, or because the
 * next prompt would come near the model's limit. Undefined where none is, or where there is nothing to cut off.
 */
export function dueCut(conversation: Conversation, size: ContextSize | undefined): Cut | undefined {
  const asked = askedFor(conversation);
  if (asked !== undefined) return cutOf(conversation, 0, focusOf(asked.args));
  if (size === undefined) return undefined;
  const room = size.contextTokens - size.maxOutputTokens;
  if (promptTokensOf(conversation, size.fixedBytes) <= room * fullShare) return undefined;
  // By our own estimate all of it may fit into the tail; the provider's count is what matters.
  return cutOf(conversation, room * tailShare) ?? cutOf(conversation, 0);
}

/**
 * Cuts off as much as leaves a tail of `tailTokens`, and never the last turn, whose results the model has not seen. A cut
 * lies between log entries, and results belong to the entry of their uses: none is ever parted from its use. Undefined
 * where no turn of the model would be cut off.
 */
export function cutOf(conversation: Conversation, tailTokens: number, focus?: string): Cut | undefined {
  const entries = entriesOf(conversation);
  const lastTurn = entries.findLastIndex(({ message }) => message.kind === "assistant");
  let first = lastTurn;
  let bytes = entries.slice(first).reduce((sum, entry) => sum + entry.bytes, 0);
  while (first > 0) {
    bytes += entries[first - 1]?.bytes ?? 0;
    if (bytes > tailTokens * bytesPerToken) break;
    first -= 1;
  }
  const isWorthIt = entries.slice(0, Math.max(first, 0)).some(({ message }) => message.kind === "assistant");
  const upToSeq = entries[first - 1]?.message.seq;
  return isWorthIt && upToSeq !== undefined ? { upToSeq, focus } : undefined;
}

/** The part of a conversation that a cut takes off, with the summary it begins with; a conversation of its own. */
export function partUpTo({ messages, calls }: Conversation, { upToSeq }: Pick<Summary, "upToSeq">): Conversation {
  return {
    messages: messages.filter(({ kind, seq }) => kind === "summary" || seq <= upToSeq),
    calls: calls.filter(({ turnSeq }) => turnSeq <= upToSeq),
    steers: [],
  };
}

/** The call of the last turn that asks for a summary, where none was made since. */
function askedFor({ messages, calls }: Conversation): RecordedCall | undefined {
  const last = messages.findLast(({ kind }) => kind !== "user");
  if (last?.kind !== "assistant") return undefined;
  return callsOfTurn(calls, last.seq).findLast(
    ({ tool, status }) => tool === summarizeContextName && status === "done",
  );
}

/** The calls of one of the last turns; calls are in the order of the turns. */
function callsOfTurn(calls: readonly RecordedCall[], seq: number): readonly RecordedCall[] {
  const end = calls.findLastIndex(({ turnSeq }) => turnSeq <= seq) + 1;
  return calls.slice(calls.findLastIndex(({ turnSeq }) => turnSeq < seq) + 1, end);
}

/**
 * How long the next prompt is: what the provider counted for the last turn, and an estimate of what came since. Read from
 * the end, so that it takes as long for any conversation.
 */
function promptTokensOf(conversation: Conversation, fixedBytes: number): number {
  const { messages, calls, steers } = conversation;
  let since = steers.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at] as LoggedMessage;
    if (message.kind === "summary") break;
    const { bytes, resultBytes } = entryOf(message, callsOfTurn(calls, message.seq));
    if (message.tokens != null) return message.tokens + (since + resultBytes) / bytesPerToken;
    since += bytes;
  }
  return (Buffer.byteLength(JSON.stringify(buildMessages(conversation))) + fixedBytes) / bytesPerToken;
}

interface Entry {
  readonly message: LoggedMessage;
  readonly bytes: number;
  /** The part of `bytes` that its calls' results are. */
  readonly resultBytes: number;
}

/** The entries that the prompt still holds as they are, with what each adds to it. */
function entriesOf({ messages, calls }: Conversation): Entry[] {
  const upToSeq = latestSummary(messages)?.upToSeq ?? 0;
  const callsByTurn = Map.groupBy(calls, ({ turnSeq }) => turnSeq);
  return messages
    .filter(({ kind, seq }) => kind !== "summary" && seq > upToSeq)
    .map((message) => entryOf(message, callsByTurn.get(message.seq) ?? []));
}

function entryOf(message: LoggedMessage, own: readonly RecordedCall[]): Entry {
  const resultBytes = own.reduce((sum, { result }) => sum + Buffer.byteLength(result ?? ""), 0);
  const argsBytes = own.reduce((sum, { args }) => sum + Buffer.byteLength(args), 0);
  return { message, bytes: Buffer.byteLength(message.content) + argsBytes + resultBytes, resultBytes };
}
