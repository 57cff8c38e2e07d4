import type { Block, Message } from "./model.ts";

/**
 * What a provider would refuse in a conversation, in words, or undefined where it would accept it: the last safeguard
 * before a request is paid for.
 */
export function findProviderProblem(messages: readonly Message[]): string | undefined {
  return createProviderCheck()(messages);
}

/** Finds what a provider would refuse. Messages that were found sound before are not looked at again while they lead the list. */
export type ProviderCheck = (messages: readonly Message[]) => string | undefined;

/** A check for one conversation, to be asked before each of its turns. */
export function createProviderCheck(): ProviderCheck {
  /** How many of the first messages are sound, and which was the last of them. */
  let sound = 0;
  let lastSound: Message | undefined;
  let asked: readonly string[] = [];
  let seen = new Set<string>();

  return (messages) => {
    if (messages[0]?.role !== "user") return "the first message is not a user's";
    if (messages.at(-1)?.role !== "user") return "the last message is not a user's";
    if (lastSound !== undefined && messages[sound - 1] !== lastSound) {
      sound = 0;
      lastSound = undefined;
      asked = [];
      seen = new Set();
    }
    for (let index = sound; index < messages.length; index += 1) {
      const message = messages[index] as Message;
      const problem = findProblem(message, index, messages[index - 1]?.role);
      if (problem !== undefined) return problem;
      // A user's message may grow: it is looked at again until the next one stands behind it.
      if (message.role === "user" && index === messages.length - 1) return undefined;
      asked = usesOf(message);
      for (const id of asked) seen.add(id);
      sound = index + 1;
      lastSound = message;
    }
    return undefined;
  };

  function findProblem({ role, content }: Message, index: number, before: Message["role"] | undefined) {
    if (before === role) return `messages ${index} and ${index + 1} are both the ${role}'s`;
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
    const repeated = uses.find((id, at) => seen.has(id) || uses.indexOf(id) !== at);
    return repeated === undefined ? undefined : `the tool use ${repeated} occurs twice`;
  }
}

function usesOf({ content }: Message): string[] {
  return content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
}

/** What there is in a message, found in one pass. */
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
