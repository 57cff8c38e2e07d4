import fc from "fast-check";
import { expect, test } from "vitest";
import { stringifyExact } from "./exact-text.ts";
import type { Block, Message } from "./model.ts";
import { buildMessages, createPrompt, type StoredBlock } from "./prompt.ts";
import { createProviderCheck, findProviderProblem } from "./provider-problem.ts";
import type { CallStatus, LoggedMessage, RecordedCall, UnreadSteer } from "./run-snapshot.ts";
import { aRecordedCall } from "./testing/snapshots.ts";

const statuses: readonly CallStatus[] = [
  "requested",
  "waiting",
  "executing",
  "done",
  "failed",
  "denied",
  "unknown",
  "canceled",
];
const codes = ["user_denied", "policy_denied", "expired", "timeout", "sibling_failed", "canceled", "unknown", null];

const words = fc.string({ unit: "binary", minLength: 1, maxLength: 12 }).filter((text) => text.trim() !== "");
const aCallState = fc.record({
  status: fc.constantFrom(...statuses),
  result: fc.option(words.map(stringifyExact)),
  resultCode: fc.constantFrom(...codes),
});
const aTurn = fc.record({
  texts: fc.array(words, { maxLength: 2 }),
  calls: fc.array(aCallState, { maxLength: 4 }),
  isTextFirst: fc.boolean(),
  thoughts: fc.constantFrom<("before" | "after")[]>([], ["before"], ["after"], ["before", "after"]),
  steersAfter: fc.array(words, { maxLength: 2 }),
});
const aRun = fc.record({
  input: words,
  turns: fc.array(aTurn, { maxLength: 5 }),
  unread: fc.array(words, { maxLength: 2 }),
});

const aThought: StoredBlock = { type: "opaque", provider: "test", json: '{"signature":"x"}' };

type Recorded = { messages: LoggedMessage[]; calls: RecordedCall[] };

/** The log as the engine writes it, and after each entry what a crash there would leave. */
function prefixesOf(run: {
  input: string;
  turns: readonly (typeof aTurn extends fc.Arbitrary<infer T> ? T : never)[];
}): Recorded[] {
  const messages: LoggedMessage[] = [{ seq: 1, kind: "user", content: stringifyExact(run.input) }];
  const calls: RecordedCall[] = [];
  const prefixes: Recorded[] = [];
  const cut = () => prefixes.push({ messages: [...messages], calls: [...calls] });
  cut();
  for (const turn of run.turns) {
    const seq = messages.length + 1;
    const uses = turn.calls.map((state, position) =>
      aRecordedCall({
        ...state,
        id: `${seq}.${position}`,
        turnSeq: seq,
        position,
        providerId: `toolu_${seq}_${position}`,
      }),
    );
    const said = turn.texts.map((text): StoredBlock => ({ type: "text", text }));
    const asked = uses.map((use): StoredBlock => ({ type: "tool_use", id: use.providerId, name: use.tool }));
    const spoken = turn.isTextFirst ? [...said, ...asked] : [...asked, ...said];
    const thought = (where: "before" | "after") => (turn.thoughts.includes(where) ? [aThought] : []);
    const content = [...thought("before"), ...spoken, ...thought("after")];
    messages.push({ seq, kind: "assistant", content: stringifyExact(content) });
    calls.push(...uses);
    cut();
    for (const text of turn.steersAfter) {
      messages.push({ seq: messages.length + 1, kind: "user", content: stringifyExact(text) });
      cut();
    }
  }
  return prefixes;
}

/** A model that said its last word is asked again only after somebody else spoke. */
function isAsked({ messages, calls }: Recorded, steers: readonly UnreadSteer[]): boolean {
  const last = messages.at(-1);
  return last?.kind === "user" || steers.length > 0 || calls.some(({ turnSeq }) => turnSeq === last?.seq);
}

test("DU31, AZ46, AZ53: what any crash leaves of any run is a conversation that a provider accepts, with one result for every use", () => {
  fc.assert(
    fc.property(aRun, (run) => {
      const steers = run.unread.map((text, index) => ({ n: index + 1, author: "user", content: stringifyExact(text) }));
      for (const prefix of prefixesOf(run)) {
        if (!isAsked(prefix, steers)) continue;
        const messages = buildMessages({ ...prefix, steers });
        expect(findProviderProblem(messages)).toBeUndefined();
        const results = messages.flatMap(({ content }) =>
          content.flatMap((block) => (block.type === "tool_result" ? [block.toolUseId] : [])),
        );
        expect(results).toEqual(prefix.calls.map(({ providerId }) => providerId));
        const texts = messages.flatMap(({ content }) =>
          content.flatMap((block) => (block.type === "text" ? [block.text] : [])),
        );
        for (const text of run.unread) expect(texts).toContain(text);
      }
    }),
    { numRuns: 300 },
  );
});

test("a prompt that is kept from turn to turn is the one that is built anew, and what was sound in it is found so again", () => {
  fc.assert(
    fc.property(aRun, (run) => {
      const prompt = createPrompt();
      const check = createProviderCheck();
      const steers = run.unread.map((text, index) => ({ n: index + 1, author: "user", content: stringifyExact(text) }));
      let before: readonly Message[] = [];
      let told = before;
      for (const prefix of prefixesOf(run)) {
        const messages = prompt({ ...prefix, steers });
        expect(messages).toEqual(buildMessages({ ...prefix, steers }));
        // Whoever was told the one before may still have it.
        expect(before).toEqual(told);
        before = messages;
        told = structuredClone(messages);
        if (isAsked(prefix, steers)) expect(check(messages)).toBeUndefined();
        expect(check([...messages, { role: "user", content: [] }])).toBeDefined();
      }
    }),
    { numRuns: 300 },
  );
});

test("what was said before is the same object in the next prompt, so that nobody has to look at it again", () => {
  const prompt = createPrompt();
  const said = (seq: number): LoggedMessage => ({
    seq,
    kind: "assistant",
    content: `[{"type":"tool_use","id":"t${seq}","name":"look"}]`,
  });
  const called = (seq: number): RecordedCall =>
    aRecordedCall({
      id: `c${seq}`,
      turnSeq: seq,
      position: 0,
      providerId: `t${seq}`,
      status: "done",
      result: '"seen"',
    });
  const messages: LoggedMessage[] = [{ seq: 1, kind: "user", content: '"please"' }, said(2)];
  const first = prompt({ messages, calls: [called(2)], steers: [] });
  const second = prompt({ messages: [...messages, said(4)], calls: [called(2), called(4)], steers: [] });
  expect(second).toHaveLength(5);
  for (const [index, message] of first.entries()) expect(second[index]).toBe(message);
});

test("AZ53: a call without an ordinary result is an error to the model, with the reason it has", () => {
  for (const status of statuses) {
    const call = aRecordedCall({ status, result: null, resultCode: null });
    const content = stringifyExact([{ type: "tool_use", id: call.providerId, name: "look" }]);
    const messages = buildMessages({
      messages: [
        { seq: 1, kind: "user", content: '"do"' },
        { seq: 2, kind: "assistant", content },
      ],
      calls: [call],
      steers: [],
    });
    const isDone = status === "done";
    expect(messages.at(-1)).toEqual({
      role: "user",
      content: [
        {
          type: "tool_result",
          toolUseId: call.providerId,
          content: "no result was recorded",
          isError: !isDone,
          code: isDone ? null : "unknown",
        },
      ],
    });
  }
});

test("arguments stand in the prompt exactly as the model wrote them", () => {
  const args = '{ "n": 1e400, "b": 1.0, "a":"\\ud800", "a": 2 }';
  const [, assistant] = buildMessages({
    messages: [
      { seq: 1, kind: "user", content: '"do"' },
      { seq: 2, kind: "assistant", content: '[{"type":"tool_use","id":"toolu_1","name":"look"}]' },
    ],
    calls: [aRecordedCall({ args })],
    steers: [],
  });
  expect(assistant?.content).toEqual([{ type: "tool_use", id: "toolu_1", name: "look", argsText: args }]);
});

test("what only its provider can read stands where it stood, and never last", () => {
  const content = stringifyExact([aThought, { type: "tool_use", id: "toolu_1", name: "look" }, aThought]);
  const [, assistant] = buildMessages({
    messages: [
      { seq: 1, kind: "user", content: '"do"' },
      { seq: 2, kind: "assistant", content },
    ],
    calls: [aRecordedCall()],
    steers: [],
  });
  expect(assistant?.content.map(({ type }) => type)).toEqual(["opaque", "tool_use"]);
  expect(assistant?.content[0]).toEqual(aThought);
});

test("the latest summary stands in the place of what it sums up, and what came after stays", () => {
  const summary = (seq: number, upToSeq: number, said: string) =>
    ({ seq, kind: "summary", content: stringifyExact({ text: said, upToSeq }) }) as const;
  const messages = buildMessages({
    messages: [
      { seq: 1, kind: "user", content: '"do"' },
      { seq: 2, kind: "assistant", content: '[{"type":"tool_use","id":"toolu_1","name":"look"}]' },
      summary(4, 1, "older"),
      { seq: 5, kind: "user", content: '"and then?"' },
      summary(6, 2, "newer"),
    ],
    calls: [aRecordedCall()],
    steers: [],
  });
  const said = messages.flatMap(({ content }) => content.map((block) => (block.type === "text" ? block.text : block)));
  expect(said).toEqual([expect.stringMatching(/^\[Summary of the conversation so far.*\nnewer$/), "and then?"]);
});

test("a model that said nothing leaves no message behind: the next steer follows what was asked before", () => {
  const messages = buildMessages({
    messages: [
      { seq: 1, kind: "user", content: '"do"' },
      { seq: 2, kind: "assistant", content: "[]" },
    ],
    calls: [],
    steers: [{ n: 1, author: "user", content: '"well?"' }],
  });
  expect(messages).toEqual([
    {
      role: "user",
      content: [
        { type: "text", text: "do" },
        { type: "text", text: "well?" },
      ],
    },
  ]);
});

test("a blank message of a person's is told as one, and does not end the run", () => {
  const steers = [{ n: 1, author: "user", content: '"\\n "' }];
  const messages = buildMessages({ messages: [{ seq: 1, kind: "user", content: '""' }], calls: [], steers });
  expect(messages).toEqual([
    {
      role: "user",
      content: [
        { type: "text", text: "(a blank message)" },
        { type: "text", text: "(a blank message)" },
      ],
    },
  ]);
});

const text = (said: string): Block => ({ type: "text", text: said });
const use = (id: string): Block => ({ type: "tool_use", id, name: "look", argsText: "{}" });
const opaque: Block = { type: "opaque", provider: "test", json: "{}" };
const result = (toolUseId: string): Block => ({
  type: "tool_result",
  toolUseId,
  content: "",
  isError: false,
  code: null,
});
const user = (...content: Block[]): Message => ({ role: "user", content });
const assistant = (...content: Block[]): Message => ({ role: "assistant", content });

test("a sound conversation has no problem", () => {
  const sound = [
    user(text("do")),
    assistant(text("well"), use("a"), use("b")),
    user(result("a"), result("b"), text("hurry")),
  ];
  expect(findProviderProblem(sound)).toBeUndefined();
});

test.each<[string, Message[], string]>([
  ["is empty", [], "the first message is not a user's"],
  ["begins with the assistant", [assistant(text("hi")), user(text("do"))], "the first message is not a user's"],
  ["ends with the assistant", [user(text("do")), assistant(text("hi"))], "the last message is not a user's"],
  ["has two users in a row", [user(text("do")), user(text("now"))], "messages 1 and 2 are both the user's"],
  ["has an empty message", [user(text("do")), assistant(), user(text("x"))], "message 2 is empty"],
  ["has a blank text", [user(text("do")), assistant(text(" \n")), user(text("x"))], "message 2 has a blank text"],
  [
    "lacks a result",
    [user(text("do")), assistant(use("a"), use("b")), user(result("a"))],
    "message 3 answers [a] where [a, b] was asked",
  ],
  [
    "lacks all results",
    [user(text("do")), assistant(use("a")), user(text("x"))],
    "message 3 answers [] where [a] was asked",
  ],
  [
    "has a result too many",
    [user(text("do")), assistant(use("a")), user(result("a"), result("a"))],
    "message 3 answers [a, a] where [a] was asked",
  ],
  [
    "has results out of order",
    [user(text("do")), assistant(use("a"), use("b")), user(result("b"), result("a"))],
    "message 3 answers [b, a] where [a, b] was asked",
  ],
  ["answers what nobody asked", [user(text("do"), result("a"))], "message 1 answers [a] where [] was asked"],
  [
    "has text before a result",
    [user(text("do")), assistant(use("a")), user(text("x"), result("a"))],
    "message 3 has text before a result",
  ],
  [
    "uses an id twice in a message",
    [user(text("do")), assistant(use("a"), use("a")), user(result("a"), result("a"))],
    "the tool use a occurs twice",
  ],
  [
    "uses an id of before",
    [user(text("do")), assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))],
    "the tool use a occurs twice",
  ],
  [
    "ends a message in a thought",
    [user(text("do")), assistant(text("x"), opaque), user(text("x"))],
    "message 2 ends in a block for its provider alone",
  ],
  ["lets the user think", [user(opaque, text("x"))], "message 1 has a block of the other role"],
  [
    "lets the user use a tool",
    [user(text("do"), use("a")), assistant(text("x")), user(text("x"))],
    "message 1 has a block of the other role",
  ],
  [
    "lets the assistant answer",
    [user(text("do")), assistant(result("a")), user(text("x"))],
    "message 2 has a block of the other role",
  ],
])("a conversation that %s is refused, in words", (_what, messages, problem) => {
  expect(findProviderProblem(messages)).toBe(problem);
});
