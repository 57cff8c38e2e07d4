import type {
  ContentBlockParam,
  MessageCreateParamsStreaming,
  MessageParam,
  TextBlockParam,
  ThinkingConfigParam,
  Tool,
} from "@anthropic-ai/sdk/resources/messages";
import type { Block, Message, ModelRequest } from "@countersign/engine/model.ts";
import { apiNameOf } from "./tool-names.ts";

/** Blocks of this provider that the conversation keeps without reading them. */
export const providerName = "anthropic";

/** A fourth breakpoint would be allowed; it would have nothing to mark that these do not cover. */
const cacheable = { cache_control: { type: "ephemeral" } } as const;

/**
 * The request for one turn as the Messages API takes it. Three cache breakpoints: behind the system prompt (which comes
 * after the tools, so they are covered), and behind each of the last two messages of the user, so that the next turn
 * reads what this one wrote however many blocks lie between.
 */
export function buildRequest(
  request: ModelRequest,
  thinking: ThinkingConfigParam | undefined,
): MessageCreateParamsStreaming {
  const system = systemOf(request);
  const tools = request.tools.map(toolOf);
  const lastTool = tools.at(-1);
  if (system === undefined && lastTool !== undefined) tools[tools.length - 1] = { ...lastTool, ...cacheable };
  const mayThink =
    request.purpose !== "classifier" && (thinking?.type !== "enabled" || startsWithThought(request.messages));
  const thinks = thinking === undefined || mayThink ? thinking : unthinking;
  // What the model thinks counts as output, and is to take nothing from its answer.
  const budget = thinks?.type === "enabled" ? thinks.budget_tokens : 0;
  return {
    model: request.model,
    max_tokens: request.maxOutputTokens + budget,
    stream: true,
    messages: markLastUsers(request.messages.map(messageOf)),
    ...(system === undefined ? {} : { system }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(thinks === undefined ? {} : { thinking: thinks }),
  };
}

const unthinking: ThinkingConfigParam = { type: "disabled" };

/**
 * Whether the chain of calls that the last message answers began with a thought, as the API requires where a budget for
 * thinking is set. A summary may stand in the place of that beginning; the chain then goes on without thinking.
 */
function startsWithThought(messages: readonly Message[]): boolean {
  const answers = (message: Message | undefined) =>
    message?.content.some(({ type }) => type === "tool_result") === true;
  let at = messages.length - 1;
  if (!answers(messages[at])) return true;
  while (answers(messages[at])) at -= 2;
  const [first] = messages[at + 1]?.content ?? [];
  return first?.type === "opaque" && first.provider === providerName;
}

function systemOf({ system }: ModelRequest): TextBlockParam[] | undefined {
  return system.trim() === "" ? undefined : [{ type: "text", text: system, ...cacheable }];
}

/** The API takes the schema of an object only; of any other the model is told in words, and the gate checks it. */
function toolOf({ name, description, inputSchema }: ModelRequest["tools"][number]): Tool {
  const schema = inputSchema as Tool.InputSchema;
  if (schema.type === "object" && !["anyOf", "oneOf", "allOf"].some((key) => key in schema))
    return { name: apiNameOf(name), description, input_schema: schema };
  const told = `${description}\nIts arguments, as JSON Schema: ${JSON.stringify(schema)}`;
  return { name: apiNameOf(name), description: told, input_schema: { type: "object" } };
}

function messageOf({ role, content }: Message): { role: Message["role"]; content: ContentBlockParam[] } {
  return { role, content: content.flatMap(blockOf) };
}

function blockOf(block: Block): ContentBlockParam[] {
  switch (block.type) {
    case "text":
      return [{ type: "text", text: block.text }];
    case "tool_use":
      return [{ type: "tool_use", id: block.id, name: apiNameOf(block.name), input: inputOf(block.argsText) }];
    case "tool_result":
      return [
        {
          type: "tool_result",
          tool_use_id: block.toolUseId,
          content: resultTextOf(block),
          ...(block.isError ? { is_error: true } : {}),
        },
      ];
    case "opaque":
      // What another provider's model thought is nothing to this one.
      return block.provider === providerName ? [JSON.parse(block.json) as ContentBlockParam] : [];
  }
}

/** An error without a word says nothing to the model: the code does. */
function resultTextOf({ content, code }: Extract<Block, { type: "tool_result" }>): string {
  if (content.trim() !== "") return content;
  return code === null ? "(no output)" : `(${code})`;
}

/**
 * What the model asked with, as an object: the API takes nothing else. Numbers keep the spelling they had. Anything that
 * is no object, whole or not JSON at all, is shown to the model as the text it was.
 */
function inputOf(argsText: string): unknown {
  try {
    const input: unknown = JSON.parse(argsText, keepNumber as (key: string, value: unknown) => unknown);
    if (typeof input === "object" && input !== null && !Array.isArray(input) && !isRaw(input)) return input;
  } catch {
    // Not JSON, which the gate has told the model already.
  }
  return { INVALID_JSON: argsText };
}

// In V8 since 11.4 (https://github.com/tc39/proposal-json-parse-with-source), in TypeScript's library not yet.
const { rawJSON, isRawJSON: isRaw } = JSON as typeof JSON & {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

function keepNumber(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  return typeof value === "number" && context.source !== undefined ? rawJSON(context.source) : value;
}

function markLastUsers(messages: readonly { role: Message["role"]; content: ContentBlockParam[] }[]): MessageParam[] {
  const users = messages.flatMap(({ role }, index) => (role === "user" ? [index] : []));
  const marked = new Set(users.slice(-2));
  return messages.map((message, index) => {
    if (!marked.has(index)) return message;
    const last = message.content.at(-1);
    if (last?.type !== "text" && last?.type !== "tool_result") return message;
    return { ...message, content: [...message.content.slice(0, -1), { ...last, ...cacheable }] };
  });
}

/**
 * The JSON of a request with every lone surrogate replaced: the API refuses the whole body for one. `JSON.stringify`
 * writes nothing else as an escape of that range.
 */
export function withoutLoneSurrogates(json: string): string {
  if (!json.includes("\\ud")) return json;
  return json.replaceAll(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\ufffd");
}
