import { hashArguments } from "@countersign/gate/canonical.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { displayText, parseExact, storableJson, stringifyExact, visibleText } from "./exact-text.ts";
import type { Model, ModelReply } from "./model.ts";
import { readSnapshot } from "./run-snapshot.ts";
import { callsOf, decidePending, outcomeOf, steer } from "./testing/driver.ts";
import { driveRun, makeEngine, readingTool, sendingTool } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";

const { sql } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["look", "send"] };
const depth = 10_000;

/** Texts that stores and drivers have been seen to lose, change or choke on. */
const hardTexts: readonly (readonly [string, string])[] = [
  ["NUL", "a\u0000b"],
  ["a lone high surrogate", "\ud800"],
  ["a lone low surrogate", "x\udc00y"],
  ["surrogates in the wrong order", "\udc00\ud800"],
  ["a number beyond a double", "1e400"],
  ["deep arrays", "[".repeat(depth) + "]".repeat(depth)],
  ["what invalid UTF-8 decodes to", Buffer.from([0xff, 0xfe, 0x41, 0xc3]).toString("utf8")],
  ["a string that looks like a number", '"10.5"'],
  ["a number", "10.5"],
  ["null", "null"],
  ["an empty object", "{}"],
  ["line separators and a BOM", "x\ufeff\u2028\u2029"],
  ["quotes and backslashes", `\\u0000 \\ " ' $$ ?`],
];

/** A model that says exactly what it is given, and keeps what it was told. */
function aModel(replies: readonly ModelReply["content"][]): { model: Model; told: Parameters<Model>[0]["messages"][] } {
  const told: Parameters<Model>[0]["messages"][] = [];
  const usage = { inputTokens: 1, outputTokens: 1, costMicros: 1 };
  const model: Model = async ({ messages }) => {
    told.push(messages);
    return { content: replies[told.length - 1] ?? [{ type: "text", text: "done" }], usage };
  };
  return { model, told };
}

test.each(hardTexts)(
  "DU32, DU34: %s goes unchanged through the input, a steer, what the model says, a tool's result and the output",
  async (_name, hard) => {
    const world = await makeWorld(sql, spec);
    const use = { type: "tool_use", id: "toolu_1", name: "look", argsText: JSON.stringify({ hard }) } as const;
    const { model, told } = aModel([[{ type: "text", text: hard }, use], [{ type: "text", text: hard }]]);
    const seen: unknown[] = [];
    const look = readingTool("look", () => ({ kind: "done", content: hard }), {
      execute: async (args: unknown) => {
        seen.push(args);
        await steer(sql, world, runId, hard);
        return { kind: "done", content: hard };
      },
    });
    const engine = makeEngine(sql, [look], () => ({}), { model });
    const runId = await givenRun(sql, world, { input: stringifyExact(hard) });
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(await outcomeOf(sql, runId)).toBe(`completed: ${hard}`);
    expect(seen).toEqual([{ hard }]);
    expect(told.at(-1)).toEqual([
      { role: "user", content: [{ type: "text", text: hard }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: hard },
          { ...use, argsText: expect.any(String) },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", toolUseId: "toolu_1", content: hard, isError: false, code: null },
          { type: "text", text: hard },
        ],
      },
    ]);
    const [call] = (await readSnapshot(sql, runId)).calls;
    expect(JSON.parse(call?.args ?? "")).toEqual({ hard });
  },
);

test.each([
  ["a number beyond a double", '{"n":1e400}'],
  ["10,000 nested arrays", `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`],
  ["a raw NUL", '{"a":"\u0000"}'],
  ["a raw lone surrogate outside a string", "{\ud800}"],
  ["no JSON", "{"],
  ["nothing", ""],
  ["a string", '"10.5"'],
  ["null", "null"],
  ["a megabyte", `{"a":"${"x".repeat(1_000_000)}"}`],
])("DU32, DU34: arguments that are %s get a clear tool error, and the run goes on", async (_name, argsText) => {
  const world = await makeWorld(sql, spec);
  const { model, told } = aModel([[{ type: "tool_use", id: "toolu_1", name: "look", argsText }]]);
  let runs = 0;
  const look = readingTool("look", () => ({ kind: "done", content: `${(runs += 1)}` }));
  const runId = await givenRun(sql, world);
  expect(
    await driveRun(
      makeEngine(sql, [look], () => ({}), { model }),
      runId,
    ),
  ).toBe("ended");
  expect(runs).toBe(0);
  expect(await callsOf(sql, runId)).toMatchObject([
    { status: "failed", code: "invalid_args", result: expect.stringMatching(/^invalid arguments for "look": /) },
  ]);
  expect(told.at(-1)?.at(-1)?.content).toMatchObject([{ type: "tool_result", isError: true, code: "invalid_args" }]);
});

test("DU34: scalars keep their type and value in arguments", async () => {
  const world = await makeWorld(sql, spec);
  const values = ["10.5", "null", "{}", 10.5, null, -0, 1e21, 0.1, true, [], ""];
  const { model } = aModel([
    [
      {
        type: "tool_use",
        id: "toolu_1",
        name: "look",
        argsText: `{"values":["10.5","null","{}",10.5,null,-0,1e21,0.1,true,[],""]}`,
      },
    ],
  ]);
  const seen: unknown[] = [];
  const look = readingTool("look", () => ({ kind: "done", content: "" }), {
    execute: async (args: { values: unknown }) => {
      seen.push(args.values);
      return { kind: "done", content: "" };
    },
  });
  await driveRun(
    makeEngine(sql, [look], () => ({}), { model }),
    await givenRun(sql, world),
  );
  expect(seen).toEqual([values]);
});

test.each(hardTexts)("DU32: a card can show %s, and what is approved is what runs", async (_name, hard) => {
  const world = await makeWorld(sql, spec);
  const { model } = aModel([[{ type: "tool_use", id: "toolu_1", name: "send", argsText: JSON.stringify({ hard }) }]]);
  const sent: unknown[] = [];
  const send = sendingTool(
    "send",
    (args) => {
      sent.push(args);
      return { kind: "done", content: hard };
    },
    { details: (args: { hard: string }) => [args.hard], units: () => [] },
  );
  const engine = makeEngine(sql, [send], () => ({}), { model });
  const runId = await givenRun(sql, world);
  expect(await driveRun(engine, runId)).toBe("parked");
  const [card] = await sql`select card::json as body from approvals where run_id = ${runId}`;
  expect(card?.body).toMatchObject({ tool: "send", details: [visibleText(hard)] });
  expect((await decidePending(sql, world, runId, "approve")).kind).toBe("decided");
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(sent).toEqual([{ hard }]);
});

test.each(["constructor", "toString", "__proto__", "a\u0000b", "\ud800", "", "x".repeat(1_000)])(
  "AZ26: the tool name %j finds no tool, and the run goes on",
  async (name) => {
    const world = await makeWorld(sql, spec);
    const { model } = aModel([[{ type: "tool_use", id: "toolu_1", name, argsText: "{}" }]]);
    const look = readingTool("look", () => ({ kind: "done", content: "" }));
    const runId = await givenRun(sql, world);
    expect(
      await driveRun(
        makeEngine(sql, [look], () => ({}), { model }),
        runId,
      ),
    ).toBe("ended");
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "denied", code: "tool_not_available" }]);
  },
);

test("JSON text is storable in Postgres, means the same and is bound by the same hash", () => {
  for (const [, hard] of hardTexts) {
    const json = `{"raw":${JSON.stringify(hard).replaceAll(/\\u(d[89a-f]..)/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))}}`;
    const stored = storableJson(json);
    expect(stored.isWellFormed()).toBe(true);
    expect(stored).not.toContain("\u0000");
    expect(JSON.parse(stored)).toEqual(JSON.parse(json));
    expect(hashArguments(stored)).toBe(hashArguments(json));
    expect(parseExact(stringifyExact(hard))).toBe(hard);
  }
});

test("a copy for people's eyes is well formed, holds no NUL and is cut to its length", () => {
  expect(displayText("a\u0000\ud800b")).toBe("a\u2400\ufffdb");
  expect(displayText("abcdef", 4)).toBe("abc…");
  expect(displayText("ab😀", 3)).toBe("ab…");
  expect(displayText("a😀b", 3)).toBe("a\ufffd…");
  expect(
    z
      .string()
      .max(4)
      .safeParse(displayText("x".repeat(9), 4)).success,
  ).toBe(true);
});

test("a text for cards writes out what nobody sees, keeps what people write in, and stays JSON of the same meaning", () => {
  expect(visibleText("a\u202Eb\u200B\u{E0041}\u00A0\u001B[2J")).toBe("a\\u202eb\\u200b\\udb40\\udc41\\u00a0\\u001b[2J");
  expect(visibleText("one\ttwo\nthree\r\näöü 你好 עברית 😀")).toBe("one\ttwo\nthree\r\näöü 你好 עברית 😀");
  const value = { "k\u2028": "x\u202Ey", n: 1 };
  expect(JSON.parse(visibleText(JSON.stringify(value)))).toEqual(value);
});
