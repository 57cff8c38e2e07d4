import type { Block, Message } from "./model.ts";
import { parseExact } from "./exact-text.ts";
import type { LoggedMessage, RecordedCall, RunSnapshot, UnreadSteer } from "./run-snapshot.ts";

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

/**
 * The conversation as the provider is to see it, from whatever is recorded: user and assistant in turn, and after each
 * assistant message with tool uses exactly one result for each, in order, before any text. A call that has no result
 * (yet) gets one that says so, so that no state a crash can leave is one the provider would refuse. Where there is a
 * summary it is the first message, in the place of everything up to its `upToSeq`.
 */
export function buildMessages(snapshot: Pick<RunSnapshot, "messages" | "calls" | "steers">): Message[] {
  const callsByTurn = Map.groupBy(snapshot.calls, (call) => call.turnSeq);
  const messages: { role: Message["role"]; content: Block[] }[] = [];

  const say = (role: Message["role"], blocks: readonly Block[]): void => {
    if (blocks.length === 0) return;
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else messages.push({ role, content: [...blocks] });
  };

  const summary = latestSummary(snapshot.messages);
  if (summary !== undefined) say("user", [summaryBlock(summary)]);
  for (const message of snapshot.messages) {
    if (message.kind === "summary" || message.seq <= (summary?.upToSeq ?? 0)) continue;
    if (message.kind === "user") {
      say("user", [textOf(message)]);
      continue;
    }
    const calls = callsByTurn.get(message.seq) ?? [];
    say("assistant", assistantBlocks(message, calls));
    if (calls.length > 0) say("user", calls.map(resultOf));
  }
  for (const steer of snapshot.steers) say("user", [textOf(steer)]);
  return messages;
}

function summaryBlock({ text }: Summary): Block {
  return { type: "text", text: `[Summary of the conversation so far; the messages themselves are left out]\n${text}` };
}

const read = new WeakMap<object, unknown>();

/** What a record says. Each is read once: a record never changes, and a long conversation is built anew for every turn. */
function readOnce<T>(record: LoggedMessage | UnreadSteer | RecordedCall, text: string): T {
  if (!read.has(record)) read.set(record, parseExact<T>(text));
  return read.get(record) as T;
}

/** A blank message of a person's is still one, but no provider takes a blank text. */
function textOf(message: LoggedMessage | UnreadSteer): Block {
  const text = readOnce<string>(message, message.content);
  return { type: "text", text: text.trim() === "" ? "(a blank message)" : text };
}

function assistantBlocks(message: LoggedMessage, calls: readonly RecordedCall[]): Block[] {
  const argsOf = new Map(calls.map((call) => [call.providerId, call.args]));
  const blocks = readOnce<StoredBlock[]>(message, message.content).map((block) =>
    block.type === "tool_use" ? { ...block, argsText: argsOf.get(block.id) ?? "{}" } : block,
  );
  // No provider takes a message that ends in thinking: there is nothing that it was thought for.
  return blocks.slice(0, blocks.findLastIndex(({ type }) => type !== "opaque") + 1);
}

function resultOf(call: RecordedCall): Block {
  return {
    type: "tool_result",
    toolUseId: call.providerId,
    content: call.result === null ? "no result was recorded" : readOnce<string>(call, call.result),
    isError: call.status !== "done",
    code: call.status === "done" ? null : (call.resultCode ?? "unknown"),
  };
}

/**
 * What a provider would refuse in a conversation, in words, or undefined where it would accept it: the last safeguard
 * before a request is paid for.
 */
export function findProviderProblem(messages: readonly Message[]): string | undefined {
  if (messages[0]?.role !== "user") return "the first message is not a user's";
  if (messages.at(-1)?.role !== "user") return "the last message is not a user's";
  let asked: readonly string[] = [];
  const seen = new Set<string>();
  for (const [index, { role, content }] of messages.entries()) {
    if (index > 0 && messages[index - 1]?.role === role)
      return `messages ${index} and ${index + 1} are both the ${role}'s`;
    if (content.length === 0) return `message ${index + 1} is empty`;
    const { uses, results, hasBlankText, hasOpaque, hasTextBeforeResult } = surveyBlocks(content);
    if (hasBlankText) return `message ${index + 1} has a blank text`;
    if (role === "assistant" ? results.length > 0 : uses.length > 0 || hasOpaque)
      return `message ${index + 1} has a block of the other role`;
    if (results.length !== asked.length || results.some((id, at) => id !== asked[at])) {
      return `message ${index + 1} answers [${results.join(", ")}] where [${asked.join(", ")}] was asked`;
    }
    if (content.at(-1)?.type === "opaque") return `message ${index + 1} ends in a block for its provider alone`;
    if (hasTextBeforeResult) return `message ${index + 1} has text before a result`;
    for (const id of uses) {
      if (seen.has(id)) return `the tool use ${id} occurs twice`;
      seen.add(id);
    }
    asked = uses;
  }
  return undefined;
}

/** What there is in a message, found in one pass: it is done for every message of a conversation at every turn. */
function surveyBlocks(content: readonly Block[]) {
  const uses: string[] = [];
  const results: string[] = [];
  let hasText = false;
  let hasBlankText = false;
  let hasOpaque = false;
  let hasTextBeforeResult = false;
  for (const block of content) {
    switch (block.type) {
      case "text":
        hasText = true;
        hasBlankText ||= block.text.trim() === "";
        break;
      case "tool_use":
        uses.push(block.id);
        break;
      case "tool_result":
        results.push(block.toolUseId);
        hasTextBeforeResult ||= hasText;
        break;
      case "opaque":
        hasOpaque = true;
        break;
    }
  }
  return { uses, results, hasBlankText, hasOpaque, hasTextBeforeResult };
}
