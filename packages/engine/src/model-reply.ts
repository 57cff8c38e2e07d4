import { z } from "zod";
import { EngineError } from "./engine-error.ts";
import type { ModelReply } from "./model.ts";

const count = z
  .int()
  .nonnegative()
  .max(2 ** 31 - 1);

const reply = z.object({
  content: z.array(
    z.discriminatedUnion("type", [
      z.object({ type: z.literal("text"), text: z.string() }),
      z.object({
        type: z.literal("tool_use"),
        id: z.string().min(1).max(200),
        name: z.string().max(1_000),
        argsText: z.string(),
      }),
      z.object({ type: z.literal("opaque"), provider: z.string().min(1).max(100), json: z.string().refine(isJson) }),
    ]),
  ),
  usage: z.object({ inputTokens: count, outputTokens: count, costMicros: z.int().nonnegative() }),
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Checks what a model said before anything of it is recorded; the same for every provider. Blank texts are dropped: no
 * provider takes them back. Throws `invalid_model_output` where the shape is wrong or a tool use repeats an id of this
 * run.
 */
export function checkReply(said: ModelReply, usedIds: ReadonlySet<string>): ModelReply {
  const parsed = reply.safeParse(said);
  if (!parsed.success)
    throw new EngineError("invalid_model_output", `The model's reply is not one: ${z.prettifyError(parsed.error)}`);
  const { content, usage } = parsed.data;
  const ids = content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
  const repeated = ids.find(
    (id, index) => usedIds.has(id) || ids.indexOf(id) !== index || id.includes("\u0000") || !id.isWellFormed(),
  );
  if (repeated !== undefined) {
    throw new EngineError(
      "invalid_model_output",
      `The model used the tool use id ${JSON.stringify(repeated)} twice, or it is not one`,
    );
  }
  return { content: content.filter((block) => block.type !== "text" || block.text.trim() !== ""), usage };
}
