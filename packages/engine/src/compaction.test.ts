import fc from "fast-check";
import { expect, test } from "vitest";
import { type ContextSize, cutOf, dueCut, partUpTo } from "./compaction.ts";
import { stringifyExact } from "./exact-text.ts";
import { buildMessages, type StoredBlock } from "./prompt.ts";
import { findProviderProblem } from "./provider-problem.ts";
import type { LoggedMessage, RecordedCall } from "./run-snapshot.ts";
import { summarizeContextName } from "./summarize-context.ts";
import { aRecordedCall } from "./testing/snapshots.ts";

interface Turn {
  readonly said: string;
  readonly isThought: boolean;
  readonly results: readonly string[];
  readonly steers: readonly string[];
}

interface Conversation {
  readonly messages: LoggedMessage[];
  readonly calls: RecordedCall[];
  readonly steers: [];
}

/** A log as the engine writes it: each turn with its calls settled, and what was said to it after. */
function logOf(turns: readonly Turn[]): Conversation {
  const messages: LoggedMessage[] = [{ seq: 1, kind: "user", content: '"please do"' }];
  const calls: RecordedCall[] = [];
  const next = () =>
    (messages.at(-1)?.seq ?? 0) + 1 + calls.filter(({ turnSeq }) => turnSeq === messages.at(-1)?.seq).length;
  for (const { said, isThought, results, steers } of turns) {
    const seq = next();
    const own = results.map((result, position) =>
      aRecordedCall({ turnSeq: seq, position, providerId: `toolu_${seq}_${position}`, result: stringifyExact(result) }),
    );
    const blocks: StoredBlock[] = [
      ...(isThought ? [{ type: "opaque", provider: "test", json: "{}" } as const] : []),
      ...(said === "" ? [] : [{ type: "text", text: said } as const]),
      ...own.map(({ providerId, tool }) => ({ type: "tool_use", id: providerId, name: tool }) as const),
    ];
    messages.push({ seq, kind: "assistant", content: stringifyExact(blocks) });
    calls.push(...own);
    for (const steer of steers) messages.push({ seq: next(), kind: "user", content: stringifyExact(steer) });
  }
  return { messages, calls, steers: [] };
}

/** The same with a summary of it recorded at its end. */
function summarized(log: Conversation, upToSeq: number): Conversation {
  const seq = (log.messages.at(-1)?.seq ?? 0) + 100;
  const content = stringifyExact({ text: "a summary", upToSeq });
  return { ...log, messages: [...log.messages, { seq, kind: "summary", content }] };
}

function upTo(log: Conversation, entries: number): Conversation {
  const messages = log.messages.slice(0, entries);
  const last = messages.at(-1)?.seq ?? 0;
  return { ...log, messages, calls: log.calls.filter(({ turnSeq }) => turnSeq <= last) };
}

function isAsked({ messages, calls }: Conversation): boolean {
  const last = messages.at(-1);
  return last?.kind === "user" || calls.some(({ turnSeq }) => turnSeq === last?.seq);
}

const words = fc.string({ minLength: 1, maxLength: 400 }).filter((said) => said.trim() !== "");
const aTurn = fc.record({
  said: fc.oneof(fc.constant(""), words),
  isThought: fc.boolean(),
  results: fc.array(words, { maxLength: 3 }),
  steers: fc.array(words, { maxLength: 2 }),
});

test("every cut of every prefix, also over an older summary, leaves two conversations that a provider accepts, and parts no result from its use", () => {
  fc.assert(
    fc.property(fc.array(aTurn, { maxLength: 8 }), fc.nat(600), fc.nat(600), (turns, firstTail, secondTail) => {
      const log = logOf(turns);
      for (let entries = 1; entries <= log.messages.length; entries += 1) {
        let prefix = upTo(log, entries);
        if (!isAsked(prefix)) continue;
        for (const tail of [firstTail, secondTail]) {
          const before = buildMessages(prefix);
          const cut = cutOf(prefix, tail);
          if (cut === undefined) continue;
          const older = [...buildMessages(partUpTo(prefix, cut))];
          if (older.at(-1)?.role === "assistant")
            older.push({ role: "user", content: [{ type: "text", text: "sum up" }] });
          expect(findProviderProblem(older)).toBeUndefined();
          prefix = summarized(prefix, cut.upToSeq);
          const rest = buildMessages(prefix);
          expect(findProviderProblem(rest)).toBeUndefined();
          expect(rest[0]?.content[0]).toMatchObject({ type: "text", text: expect.stringContaining("a summary") });
          // What is kept is what was there: the last turn and its results always are.
          expect(JSON.stringify(rest.at(-1)?.content.at(-1))).toBe(JSON.stringify(before.at(-1)?.content.at(-1)));
        }
      }
    }),
    { numRuns: 300 },
  );
});

test("a second summary cuts further than the first, so that making them comes to an end", () => {
  const turn = (): Turn => ({ said: "well", isThought: false, results: ["seen"], steers: [] });
  const log = logOf([turn(), turn(), turn(), turn()]);
  const first = cutOf(log, 70);
  const second = cutOf(summarized(log, first?.upToSeq ?? 0), 0);
  expect(second?.upToSeq).toBeGreaterThan(first?.upToSeq ?? Infinity);
  expect(cutOf(summarized(log, second?.upToSeq ?? 0), 0)).toBeUndefined();
});

test("nothing is cut off where no turn lies before the last one", () => {
  const one = logOf([{ said: "well", isThought: false, results: ["seen"], steers: ["more"] }]);
  expect(cutOf(one, 0)).toBeUndefined();
  expect(cutOf(logOf([]), 0)).toBeUndefined();
});

const size: ContextSize = { contextTokens: 1_000, maxOutputTokens: 200, fixedBytes: 0 };

function counted(log: Conversation, tokens: number): Conversation {
  const at = log.messages.findLastIndex(({ kind }) => kind === "assistant");
  return { ...log, messages: log.messages.map((message, index) => (index === at ? { ...message, tokens } : message)) };
}

const turns: Turn[] = [1, 2, 3].map(() => ({ said: "well", isThought: false, results: ["seen"], steers: [] }));

test("a cut is due where what the provider counted, and what came since, nears the limit", () => {
  expect(dueCut(counted(logOf(turns), 600), size)).toBeUndefined();
  expect(dueCut(counted(logOf(turns), 690), size)).toMatchObject({ focus: undefined });
  const long = turns.with(2, { said: "well", isThought: false, results: ["x".repeat(600)], steers: [] });
  expect(dueCut(counted(logOf(long), 500), size)).toMatchObject({ focus: undefined });
  const steered = { ...counted(logOf(turns), 500), steers: [{ n: 1, author: "user", content: "x".repeat(600) }] };
  expect(dueCut(steered, size)).toMatchObject({ focus: undefined });
});

test("without a count the bytes are what is gone by, instructions and tools among them", () => {
  expect(dueCut(logOf(turns), size)).toBeUndefined();
  expect(dueCut(logOf(turns), { ...size, fixedBytes: 2_000 })).toBeDefined();
  expect(
    dueCut(logOf(turns.with(0, { said: "語".repeat(600), isThought: false, results: ["a"], steers: [] })), size),
  ).toBeDefined();
});

test("a count from before the summary says nothing of the prompt after it", () => {
  const log = counted(logOf(turns), 690);
  const [, first] = log.messages;
  expect(dueCut(log, size)).toBeDefined();
  expect(dueCut(summarized(log, first?.seq ?? 0), size)).toBeUndefined();
});

test("of a model whose limit is not known nothing is cut off", () => {
  expect(dueCut(counted(logOf(turns), 10_000_000), undefined)).toBeUndefined();
});

test("an agent that asks for it in its last turn has its conversation cut before that turn, once", () => {
  const log = logOf(turns);
  const calls = log.calls.map((call, index) =>
    index === log.calls.length - 1 ? { ...call, tool: summarizeContextName, args: '{"focus":"names"}' } : call,
  );
  const asking = { ...log, calls };
  const cut = dueCut(asking, undefined);
  expect(cut).toEqual({ upToSeq: calls.at(-2)?.turnSeq, focus: "names" });
  expect(dueCut(summarized(asking, cut?.upToSeq ?? 0), undefined)).toBeUndefined();
  const denied = calls.map((call) => ({ ...call, status: "denied" }) as const);
  expect(dueCut({ ...log, calls: denied }, undefined)).toBeUndefined();
});
