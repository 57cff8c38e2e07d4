import { expect, test } from "vitest";
import { EngineError } from "./engine-error.ts";
import type { ModelReply } from "./model.ts";
import { checkReply } from "./model-reply.ts";

const usage = { inputTokens: 1, outputTokens: 1, costMicros: 1 };
const text = (said: string) => ({ type: "text", text: said }) as const;
const use = (id: string, name = "look") => ({ type: "tool_use", id, name, argsText: "{}" }) as const;

test("a sound reply passes as it is; blank texts are dropped", () => {
  const content = [text("hi"), use("a"), use("b")];
  expect(checkReply({ content, usage }, new Set(["z"]))).toEqual({ content, usage });
  expect(checkReply({ content: [text(""), text(" \n\t"), text("x")], usage }, new Set())).toEqual({
    content: [text("x")],
    usage,
  });
  expect(checkReply({ content: [], usage }, new Set())).toEqual({ content: [], usage });
});

test("a block for its provider alone passes as it is, in its place", () => {
  const opaque = { type: "opaque", provider: "test", json: '{"thinking":" ","n":1.0}' } as const;
  const content = [opaque, text("hi"), opaque, use("a")];
  expect(checkReply({ content, usage }, new Set())).toEqual({ content, usage });
});

test.each<[string, unknown]>([
  ["nothing", undefined],
  ["a block for its provider that is no JSON", { content: [{ type: "opaque", provider: "test", json: "{" }], usage }],
  ["a block for nobody", { content: [{ type: "opaque", provider: "", json: "{}" }], usage }],
  ["no content", { usage }],
  ["a text without text", { content: [{ type: "text" }], usage }],
  ["an unknown block", { content: [{ type: "image", data: "" }], usage }],
  ["arguments that are no text", { content: [{ ...use("a"), argsText: {} }], usage }],
  ["an empty id", { content: [use("")], usage }],
  ["a very long id", { content: [use("x".repeat(201))], usage }],
  ["a very long tool name", { content: [use("a", "x".repeat(1_001))], usage }],
  ["no usage", { content: [] }],
  ["negative tokens", { content: [], usage: { ...usage, inputTokens: -1 } }],
  ["half a token", { content: [], usage: { ...usage, outputTokens: 0.5 } }],
  ["more tokens than can be counted", { content: [], usage: { ...usage, inputTokens: 2 ** 31 } }],
  ["NaN cost", { content: [], usage: { ...usage, costMicros: Number.NaN } }],
  ["an id twice", { content: [use("a"), use("a")], usage }],
  ["an id of an earlier turn", { content: [use("old")], usage }],
  ["an id with NUL", { content: [use("a\u0000")], usage }],
  ["an id with a lone surrogate", { content: [use("a\ud800")], usage }],
])("a reply with %s is refused as invalid_model_output", (_what, said) => {
  const check = (): unknown => checkReply(said as ModelReply, new Set(["old"]));
  expect(check).toThrow(EngineError);
  expect(check).toThrow(expect.objectContaining({ code: "invalid_model_output" }) as EngineError);
});
