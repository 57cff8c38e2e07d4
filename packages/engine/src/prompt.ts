import type { Block, Message } from "./model.ts";
import { parseExact } from "./exact-text.ts";
import type { LoggedMessage, RecordedCall, RunSnapshot, UnreadSteer } from "./run-snapshot.ts";

/** An assistant message as the log keeps it: the arguments of its tool uses stand with the calls. */
export type StoredBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string };

/**
 * The conversation as the provider is to see it, from whatever is recorded: user and assistant in turn, and after each
 * assistant message with tool uses exactly one result for each, in order, before any text. A call that has no result
 * (yet) gets one that says so, so that no state a crash can leave is one the provider would refuse.
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

  for (const message of snapshot.messages) {
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

/** A blank message of a person's is still one, but no provider takes a blank text. */
function textOf(message: LoggedMessage | UnreadSteer): Block {
  const text = parseExact<string>(message.content);
  return { type: "text", text: text.trim() === "" ? "(a blank message)" : text };
}

function assistantBlocks(message: LoggedMessage, calls: readonly RecordedCall[]): Block[] {
  const argsOf = new Map(calls.map((call) => [call.providerId, call.args]));
  return parseExact<StoredBlock[]>(message.content).map((block) =>
    block.type === "text" ? block : { ...block, argsText: argsOf.get(block.id) ?? "{}" },
  );
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
    if (role === "assistant" ? results.length > 0 : uses.length > 0)
      return `message ${index + 1} has a block of the other role`;
    if (results.join("\n") !== asked.join("\n")) {
      return `message ${index + 1} answers [${results.join(", ")}] where [${asked.join(", ")}] was asked`;
    }
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
