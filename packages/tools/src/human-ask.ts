import { defineTool } from "@countersign/engine/tool.ts";
import { z } from "zod";
import { storableLine, storableText } from "./plain-text.ts";

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const duration = /^(\d+(?:\.\d+)?) ?([smhd])$/;
const longestMs = 366 * unitMs.d;

const schema = z.strictObject({
  question: storableText(2_000),
  options: z
    .array(storableLine(200))
    .min(1)
    .max(20)
    .optional()
    .describe("Answers to offer; the person may also write one"),
  context: storableText(8_000).optional().describe("What the person needs to know in order to answer"),
  timeout: z
    .union([
      z.number(),
      z.string().regex(duration, 'expected seconds as a number, or text such as "90s", "10m", "2h", "1d"'),
    ])
    .refine(
      (timeout) => millisecondsOf(timeout) >= unitMs.s && millisecondsOf(timeout) <= longestMs,
      "expected 1 second to 366 days",
    )
    .optional()
    .describe('How long to wait: seconds, or text such as "10m"; without it the question waits until it is answered'),
  default: storableText(2_000).optional().describe("The answer that holds when the time is up"),
});

/** Asks a person. The answer is data for the agent and permits nothing: a gated tool still asks for itself. */
export const humanAsk = defineTool<z.infer<typeof schema>>({
  name: "human.ask",
  description:
    "Asks a person a question and waits for the answer, which is this tool's result. An answer permits nothing: tools that need approval still ask for it.",
  schema,
  tier: "read",
  needsApproval: false,
  neverGated: true,
  effect: "question",
  question: ({ question, options = [], context, timeout, default: defaultAnswer }) => ({
    question,
    options: [...new Set(options)],
    context,
    timeoutMs: timeout === undefined ? undefined : millisecondsOf(timeout),
    defaultAnswer,
  }),
});

function millisecondsOf(timeout: number | string): number {
  if (typeof timeout === "number") return Math.round(timeout * unitMs.s);
  const [, amount, unit] = duration.exec(timeout) ?? [];
  return Math.round(Number(amount) * unitMs[unit as keyof typeof unitMs]);
}
