import type { Block, Message } from "./model.ts";
import { parseExact } from "./exact-text.ts";
import { inputOf } from "./call-input.ts";
import type { CallStatus, LoggedMessage, RecordedCall, RunSnapshot, UnreadSteer } from "./run-snapshot.ts";

/** An assistant message as the log keeps it: the arguments of its tool uses stand with the calls. */
export type StoredBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string }
  | Extract<Block, { type: "opaque" }>;

/** What stands in for the conversation up to and with the log entry `upToSeq`. */
export interface Summary {
  readonly text: string;
  readonly upToSeq: number;
}

/** The latest summary of a conversation, and the log number it stands at. */
export function latestSummary(messages: readonly LoggedMessage[]): (Summary & { readonly seq: number }) | undefined {
  const entry = messages.findLast(({ kind }) => kind === "summary");
  return entry === undefined ? undefined : { ...parseExact<Summary>(entry.content), seq: entry.seq };
}

type Conversation = Pick<RunSnapshot, "messages" | "calls" | "steers">;

/**
 * The conversation as the provider is to see it, from whatever is recorded: user and assistant in turn, and after each
 * assistant message with tool uses exactly one result for each, in order, before any text. A call that has no result
 * (yet) gets one that says so, so that no state a crash can leave is one the provider would refuse. Where there is a
 * summary it is the first message, in the place of everything up to its `upToSeq`.
 */
export function buildMessages(conversation: Conversation): readonly Message[] {
  return createPrompt()(conversation);
}

/** Builds the messages of one conversation again and again, as `buildMessages` does. */
export type Prompt = (conversation: Conversation) => readonly Message[];

/**
 * A prompt that keeps what it built: as long as the record only grows, a build looks at what was added since, and its
 * other messages are the same objects as in the build before.
 */
export function createPrompt(): Prompt {
  let kept = nothingKept(undefined);

  return (conversation) => {
    const { messages: log, steers } = conversation;
    if (kept.entries > 0 && log[kept.entries - 1] !== kept.last) kept = nothingKept(undefined);
    const summary = newestSummary(log, kept.entries) ?? kept.summary;
    if (summary !== kept.summary) kept = nothingKept(summary);
    readEntries(kept, conversation, settledEnd(conversation, kept.entries));

    const tail: Reading = { ...kept, messages: kept.messages.slice() };
    readEntries(tail, conversation, log.length);
    for (const steer of steers) say(tail.messages, "user", [textOf(steer)]);
    return tail.messages;
  };
}

/** How far a record was read, and the messages that came of it. */
interface Reading {
  readonly summary: LoggedMessage | undefined;
  readonly upToSeq: number;
  entries: number;
  last: LoggedMessage | undefined;
  calls: number;
  readonly messages: Message[];
}

function nothingKept(summary: LoggedMessage | undefined): Reading {
  const { text, upToSeq } = summary === undefined ? { text: "", upToSeq: 0 } : parseExact<Summary>(summary.content);
  const messages: Message[] = summary === undefined ? [] : [{ role: "user", content: [summaryBlock(text)] }];
  return { summary, upToSeq, entries: 0, last: undefined, calls: 0, messages };
}

function newestSummary(log: readonly LoggedMessage[], from: number): LoggedMessage | undefined {
  for (let at = log.length - 1; at >= from; at -= 1) if (log[at]?.kind === "summary") return log[at];
  return undefined;
}

const settled = new Set<CallStatus>(["done", "failed", "denied", "canceled"]);

/** The end of what cannot change any more: all entries, or those before the last turn while a call of it is open. */
function settledEnd({ messages: log, calls }: Conversation, from: number): number {
  const lastTurn = log.findLastIndex(({ kind }) => kind === "assistant");
  const seq = log[lastTurn]?.seq ?? 0;
  for (let at = calls.length - 1; at >= 0 && (calls[at]?.turnSeq ?? 0) >= seq; at -= 1)
    if (!settled.has((calls[at] as RecordedCall).status)) return Math.max(from, lastTurn);
  return log.length;
}

/** Reads the entries up to `end`, without it, and the calls that belong to them, which are in the order of the turns. */
function readEntries(reading: Reading, { messages: log, calls }: Conversation, end: number): void {
  for (; reading.entries < end; reading.entries += 1) {
    const message = log[reading.entries] as LoggedMessage;
    reading.last = message;
    if (message.kind === "summary" || message.seq <= reading.upToSeq) continue;
    if (message.kind === "user") {
      say(reading.messages, "user", [textOf(message)]);
      continue;
    }
    const own: RecordedCall[] = [];
    for (; (calls[reading.calls]?.turnSeq ?? Infinity) <= message.seq; reading.calls += 1) {
      const call = calls[reading.calls] as RecordedCall;
      if (call.turnSeq === message.seq) own.push(call);
    }
    say(reading.messages, "assistant", assistantBlocks(message, own));
    say(reading.messages, "user", own.map(resultOf));
  }
}

/** A message that grows is replaced, not changed: whoever was told the shorter one may still have it. */
function say(messages: Message[], role: Message["role"], blocks: readonly Block[]): void {
  if (blocks.length === 0) return;
  const last = messages.at(-1);
  if (last?.role === role) messages[messages.length - 1] = { role, content: [...last.content, ...blocks] };
  else messages.push({ role, content: blocks });
}

function summaryBlock(text: string): Block {
  return { type: "text", text: `[Summary of the conversation so far; the messages themselves are left out]\n${text}` };
}

/** How much of changed arguments a result repeats. */
const longestEdit = 16_384;

/** A blank message of a person's is still one, but no provider takes a blank text. */
function textOf(message: LoggedMessage | UnreadSteer): Block {
  const text = parseExact<string>(message.content);
  return { type: "text", text: text.trim() === "" ? "(a blank message)" : text };
}

function assistantBlocks(message: LoggedMessage, calls: readonly RecordedCall[]): Block[] {
  const argsOf = new Map(calls.map((call) => [call.providerId, call.args]));
  const blocks = parseExact<StoredBlock[]>(message.content).map((block) =>
    block.type === "tool_use" ? { ...block, argsText: argsOf.get(block.id) ?? "{}" } : block,
  );
  // No provider takes a message that ends in thinking: there is nothing that it was thought for.
  return blocks.slice(0, blocks.findLastIndex(({ type }) => type !== "opaque") + 1);
}

function resultOf(call: RecordedCall): Block {
  return {
    type: "tool_result",
    toolUseId: call.providerId,
    content: editOf(call) + (call.result === null ? "no result was recorded" : parseExact<string>(call.result)),
    isError: call.status !== "done",
    code: call.status === "done" ? null : (call.resultCode ?? "unknown"),
  };
}

/** The model sees its own arguments in the conversation; where a person changed them it has to be told what ran instead. */
function editOf(call: RecordedCall): string {
  const { argsText, isEdited } = inputOf(call);
  if (!isEdited) return "";
  const shown = argsText.length <= longestEdit ? argsText : `${argsText.slice(0, longestEdit)} [cut]`;
  return `[A person changed the arguments of this call before approving it. It was approved, and what follows is of it, with these: ${shown}]\n`;
}
