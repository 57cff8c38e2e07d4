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
    content: call.result === null ? "no result was recorded" : parseExact<string>(call.result),
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
    if (content.some((block) => block.type === "text" && block.text.trim() === ""))
      return `message ${index + 1} has a blank text`;
    const results = content.flatMap((block) => (block.type === "tool_result" ? [block.toolUseId] : []));
    const uses = content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
    const isAssistants = uses.length > 0 || content.some((block) => block.type === "opaque");
    if (role === "assistant" ? results.length > 0 : isAssistants)
      return `message ${index + 1} has a block of the other role`;
    if (results.join("\n") !== asked.join("\n")) {
      return `message ${index + 1} answers [${results.join(", ")}] where [${asked.join(", ")}] was asked`;
    }
    if (content.at(-1)?.type === "opaque") return `message ${index + 1} ends in a block for its provider alone`;
    const firstText = content.findIndex((block) => block.type === "text");
    const lastResult = content.findLastIndex((block) => block.type === "tool_result");
    if (firstText !== -1 && firstText < lastResult) return `message ${index + 1} has text before a result`;
    const repeated = uses.find((id) => seen.has(id) || uses.indexOf(id) !== uses.lastIndexOf(id));
    if (repeated !== undefined) return `the tool use ${repeated} occurs twice`;
    for (const id of uses) seen.add(id);
    asked = uses;
  }
  return undefined;
}
