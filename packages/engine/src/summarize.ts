import { askModel } from "./ask-model.ts";
import { type Cut, type ContextSize, cutOf, dueCut, partUpTo } from "./compaction.ts";
import { recordSummary } from "./commits/record-summary.ts";
import type { Engine, HeldRun } from "./engine.ts";
import { EngineError } from "./engine-error.ts";
import { stringifyExact } from "./exact-text.ts";
import { insist } from "./insist.ts";
import type { Message, ModelRequest } from "./model.ts";
import { type Summary, buildMessages, latestSummary } from "./prompt.ts";
import type { RunSnapshot } from "./run-snapshot.ts";
import { scrubHeld } from "./scrub-held.ts";

/** `none`: nothing had to be done, or could be. `stale`: the record has moved on; read it anew. */
export type SummaryReport =
  | { readonly kind: "none" }
  | { readonly kind: "recorded" }
  | { readonly kind: "stale" | "lost" };

/** Room for a summary, however short the definition's own answers are to be. */
const leastSummaryTokens = 4_096;

/** Results are shortened to so much where what cannot be cut off is itself too long for the model. */
const shortResultLength = 2_000;

const instruction = `Everything above is the older part of this conversation and will be left out from now on; your summary takes its place. Write it for yourself, so that you can go on with the work from it alone:
- what you were asked to do, in the words you were asked in where they matter, and every later instruction of a person
- what was done and found, with the names, ids, addresses, numbers and quotations that may be needed again
- what a person denied or answered, and why
- what is still to be done, and what you were about to do
Answer with the summary only. Do not use a tool.`;

/**
 * Summarizes the older part of a run's conversation where that is due before the next turn (or in any case where
 * `isForced`), and records the summary. The prompt is shorter afterwards; the log is whole. Rejects where the model
 * cannot be asked.
 */
export async function summarizeIfDue(
  engine: Engine,
  held: HeldRun,
  request: ModelRequest,
  isForced = false,
): Promise<SummaryReport> {
  const { snapshot } = held;
  const cut = isForced ? cutOf(snapshot, 0) : dueCut(snapshot, sizeOf(engine, request));
  if (cut === undefined) return { kind: "none" };

  const { text, usage } = await askForSummary(engine, held, request, cut);
  const summary: Summary = { text, upToSeq: cut.upToSeq };
  const content = stringifyExact(summary);
  const previous = latestSummary(snapshot.messages)?.seq ?? 0;
  const outcome = await insist(held.abort.signal, () =>
    engine.commit(recordSummary, { ...held.hold, previous, content, usage }),
  );
  switch (outcome.kind) {
    case "lease_lost":
      return { kind: "lost" };
    case "already":
      return { kind: "stale" };
    case "recorded":
      held.snapshot = withSummary(snapshot, outcome.seq, content, usage);
      return { kind: outcome.hasNews || outcome.isParked ? "stale" : "recorded" };
  }
}

function sizeOf(engine: Engine, { model, system, tools, maxOutputTokens }: ModelRequest): ContextSize | undefined {
  const contextTokens = engine.contextTokensOf?.(model);
  if (contextTokens === undefined) return undefined;
  return { contextTokens, maxOutputTokens, fixedBytes: Buffer.byteLength(system + JSON.stringify(tools)) };
}

type Usage = { readonly inputTokens: number; readonly outputTokens: number; readonly costMicros: number };

async function askForSummary(
  engine: Engine,
  held: HeldRun,
  request: ModelRequest,
  cut: Cut,
): Promise<{ text: string; usage: Usage }> {
  const { snapshot, abort } = held;
  const older = buildMessages(partUpTo(snapshot, cut));
  const focus = cut.focus === undefined ? "" : `\nAbove all, keep: ${cut.focus}`;
  const ask = async (messages: readonly Message[]) =>
    askModel(
      engine,
      {
        ...request,
        messages: withUserText(messages, `${instruction}${focus}`),
        maxOutputTokens: Math.max(request.maxOutputTokens, leastSummaryTokens),
      },
      { signal: abort.signal, usedIds: new Set(), scrub: () => scrubHeld(engine, held) },
    );
  const reply = await ask(older).catch((error: unknown) => {
    if (!isTooLong(error)) throw error;
    return ask(withShortResults(older));
  });
  const text = reply.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  if (text === "") {
    throw new EngineError(
      "invalid_model_output",
      "The model was asked to summarize the conversation so far, to make room, and gave no text",
    );
  }
  return { text, usage: reply.usage };
}

function withUserText(messages: readonly Message[], text: string): Message[] {
  const last = messages.at(-1);
  const block = { type: "text", text } as const;
  if (last?.role !== "user") return [...messages, { role: "user", content: [block] }];
  return [...messages.slice(0, -1), { role: "user", content: [...last.content, block] }];
}

/** The model says that it takes no conversation of this length. */
export function isTooLong(error: unknown): boolean {
  return error instanceof EngineError && error.code === "prompt_too_long";
}

/** The messages with no long result; what was shortened says so. */
export function withShortResults(messages: readonly Message[]): Message[] {
  return messages.map(({ role, content }) => ({
    role,
    content: content.map((block) =>
      block.type === "tool_result" && block.content.length > shortResultLength
        ? {
            ...block,
            content: `${block.content.slice(0, shortResultLength).toWellFormed()}\n[shortened: all results together are longer than you can be given at once; what you still need of this, ask for again with less beside it]`,
          }
        : block,
    ),
  }));
}

function withSummary(snapshot: RunSnapshot, seq: number, content: string, usage: Usage): RunSnapshot {
  return {
    ...snapshot,
    inputTokens: snapshot.inputTokens + usage.inputTokens,
    outputTokens: snapshot.outputTokens + usage.outputTokens,
    costMicros: snapshot.costMicros + usage.costMicros,
    messages: [...snapshot.messages, { seq, kind: "summary", content }],
  };
}
