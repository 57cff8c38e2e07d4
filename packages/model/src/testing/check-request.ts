import { z } from "zod";

const cacheControl = z.strictObject({ type: z.literal("ephemeral"), ttl: z.enum(["5m", "1h"]).optional() });
const marked = { cache_control: cacheControl.optional() };
const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/);

const text = z.strictObject({ type: z.literal("text"), text: z.string().min(1), ...marked });
const toolUse = z.strictObject({
  type: z.literal("tool_use"),
  id: z.string().regex(/^[a-zA-Z0-9_-]+$/),
  name: toolName.max(200),
  input: z.record(z.string(), z.unknown()),
  ...marked,
});
const toolResult = z.strictObject({
  type: z.literal("tool_result"),
  tool_use_id: z.string(),
  content: z.string(),
  is_error: z.boolean().optional(),
  ...marked,
});
const thinking = z.strictObject({ type: z.literal("thinking"), thinking: z.string(), signature: z.string() });
const redacted = z.strictObject({ type: z.literal("redacted_thinking"), data: z.string() });

const message = z.discriminatedUnion("role", [
  z.strictObject({
    role: z.literal("user"),
    content: z.array(z.discriminatedUnion("type", [text, toolResult])).min(1),
  }),
  z.strictObject({
    role: z.literal("assistant"),
    content: z.array(z.discriminatedUnion("type", [text, toolUse, thinking, redacted])).min(1),
  }),
]);

const requestBody = z.strictObject({
  model: z.string().min(1),
  max_tokens: z.int().positive(),
  stream: z.literal(true),
  system: z.array(text).optional(),
  tools: z
    .array(
      z.strictObject({
        name: toolName,
        description: z.string(),
        input_schema: z
          .looseObject({ type: z.literal("object") })
          .refine(
            (schema) => !("anyOf" in schema || "oneOf" in schema || "allOf" in schema),
            "no combinators at the top",
          ),
        ...marked,
      }),
    )
    .optional(),
  thinking: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("enabled"), budget_tokens: z.int().min(1_024) }),
      z.strictObject({ type: z.literal("adaptive"), display: z.enum(["summarized", "omitted"]).optional() }),
      z.strictObject({ type: z.literal("disabled") }),
    ])
    .optional(),
  messages: z.array(message).min(1),
});

export type RequestBody = z.infer<typeof requestBody>;
export type RequestMessage = RequestBody["messages"][number];
export type RequestBlock = RequestMessage["content"][number];

/** Every block of every message, in order. */
export function blocksOf(messages: readonly RequestMessage[]): RequestBlock[] {
  return messages.flatMap(({ content }): readonly RequestBlock[] => content);
}

/** What the server said before: by the id of a tool use, the blocks of thought of the message that it stood in. */
export type SaidThoughts = ReadonlyMap<string, readonly object[]>;

/** The request, or why the Messages API would refuse it. */
export function checkRequest(json: string, said: SaidThoughts): RequestBody | string {
  if (/(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/i.test(json) && !isWellFormed(json))
    return "The request body is not valid JSON: no low surrogate in string";
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return "The request body is not valid JSON";
  }
  const parsed = requestBody.safeParse(value);
  if (!parsed.success) return z.prettifyError(parsed.error);
  const body = parsed.data;
  return problemOf(body, said) ?? body;
}

function problemOf(body: RequestBody, said: SaidThoughts): string | undefined {
  const { messages, tools = [], system = [], thinking } = body;
  if (thinking?.type === "enabled" && thinking.budget_tokens >= body.max_tokens)
    return "`max_tokens` must be greater than `thinking.budget_tokens`";
  const names = tools.map(({ name }) => name);
  if (new Set(names).size !== names.length) return "tools: Tool names must be unique.";
  const marks = [...tools, ...system, ...blocksOf(messages)].filter((block) => "cache_control" in block);
  if (marks.length > 4) return `A maximum of 4 blocks with cache_control may be provided. Found ${marks.length}.`;
  if (messages[0]?.role !== "user") return 'messages: first message must use the "user" role';
  if (messages.at(-1)?.role !== "user") return "This model does not support assistant message prefill.";
  const usesTools = messages.some(({ content }) => content.some(({ type }) => type === "tool_use"));
  if (usesTools && tools.length === 0)
    return "Requests which have `tool_use` or `tool_result` blocks in `messages` must define tools.";
  return (
    problemOfMessages(messages) ??
    problemOfThoughts(messages, said) ??
    (thinking?.type === "enabled" ? problemOfChain(messages) : undefined)
  );
}

/** With a budget for thinking, the chain of calls that the last message answers has to begin with a thought. */
function problemOfChain(messages: readonly RequestMessage[]): string | undefined {
  const answers = (at: number) => messages[at]?.content.some(({ type }) => type === "tool_result") === true;
  let at = messages.length - 1;
  if (!answers(at)) return undefined;
  while (answers(at)) at -= 2;
  const type = messages[at + 1]?.content[0]?.type;
  if (type === "thinking" || type === "redacted_thinking") return undefined;
  return `messages.${at + 1}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${type}\``;
}

function problemOfMessages(messages: readonly RequestMessage[]): string | undefined {
  const seen = new Set<string>();
  let asked: readonly string[] = [];
  for (const [at, { role, content }] of messages.entries()) {
    // The API itself would join them; nobody here is to rely on it.
    if (at > 0 && messages[at - 1]?.role === role) return `messages.${at}: roles must alternate`;
    if (content.some((block) => block.type === "text" && block.text.trim() === ""))
      return `messages.${at}: text content blocks must contain non-whitespace text`;
    const results = content.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []));
    const unknown = results.find((id) => !asked.includes(id));
    if (unknown !== undefined) return `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\`: ${unknown}`;
    const missing = asked.filter((id) => !results.includes(id));
    if (missing.length > 0)
      return `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join()}`;
    if (new Set(results).size !== results.length) return `messages.${at}: each tool_use must have a single result`;
    if (results.join() !== asked.join()) return `messages.${at}: results are not in the order of their uses`;
    const firstText = content.findIndex(({ type }) => type === "text");
    if (firstText !== -1 && content.findLastIndex(({ type }) => type === "tool_result") > firstText)
      return `messages.${at}: tool results must come before text`;
    asked = content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
    for (const id of asked) {
      if (seen.has(id)) return `messages.${at}: \`tool_use\` ids must be unique`;
      seen.add(id);
    }
    if (["thinking", "redacted_thinking"].includes(content.at(-1)?.type ?? ""))
      return `messages.${at}: The final block in an assistant message cannot be \`thinking\``;
  }
  return undefined;
}

/**
 * Thought must be as it was said: all of it, in its place, in the assistant's message that the last results answer; in
 * an older one it may be left out, but not altered.
 */
function problemOfThoughts(messages: readonly RequestMessage[], said: SaidThoughts): string | undefined {
  const issued = new Set([...said.values()].flat().map((block) => JSON.stringify(block)));
  const latest = messages.findLastIndex(({ role }) => role === "assistant");
  for (const [at, { content }] of messages.entries()) {
    const thoughts = content.filter(({ type }) => type === "thinking" || type === "redacted_thinking");
    if (thoughts.some((block) => !issued.has(JSON.stringify(block))))
      return `messages.${at}: Invalid \`signature\` in \`thinking\` block`;
    const use = content.find((block) => block.type === "tool_use");
    const were = use?.type === "tool_use" ? (said.get(use.id) ?? []) : [];
    if (at !== latest || use === undefined) continue;
    if (JSON.stringify(thoughts) !== JSON.stringify(were)) {
      return `messages.${at}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified.`;
    }
    if (were.length > 0 && content[0] !== thoughts[0])
      return `messages.${at}.content.0: Expected \`thinking\` or \`redacted_thinking\`, but found \`${content[0]?.type}\``;
  }
  return undefined;
}

function isWellFormed(json: string): boolean {
  let isSound = true;
  JSON.parse(json, (key: string, value: unknown) => {
    if (!key.isWellFormed() || (typeof value === "string" && !value.isWellFormed())) isSound = false;
    return value;
  });
  return isSound;
}
