import { expect, test } from "vitest";
import { checkRequest } from "./check-request.ts";

const text = (said: string) => ({ type: "text", text: said });
const use = (id: string) => ({ type: "tool_use", id, name: "look", input: {} });
const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "seen" });
const thought = { type: "thinking", thinking: "hm", signature: "signed" };
const user = (...content: object[]) => ({ role: "user", content });
const assistant = (...content: object[]) => ({ role: "assistant", content });
const marked = { cache_control: { type: "ephemeral" } };
const tool = { name: "look", description: "looks", input_schema: { type: "object" } };

/** The use `t` was said after a thought, the others without one. */
const said = new Map([["t", [thought]]]);

function check(over: object): unknown {
  const body = { model: "m", max_tokens: 100, stream: true, tools: [tool], messages: [user(text("do"))], ...over };
  return checkRequest(JSON.stringify(body), said);
}

test.each<[string, object]>([
  ["one message", {}],
  [
    "parallel uses and their results, then text",
    {
      messages: [user(text("do")), assistant(text("a"), use("a"), use("b")), user(result("a"), result("b"), text("x"))],
    },
  ],
  ["a thought in its place", { messages: [user(text("do")), assistant(thought, use("t")), user(result("t"))] }],
  [
    "four marks",
    { system: [{ ...text("s"), ...marked }], messages: [user(...[1, 2, 3].map(() => ({ ...text("x"), ...marked })))] },
  ],
])("%s is accepted", (_what, over) => {
  expect(check(over)).toBeTypeOf("object");
});

test.each<[string, object, RegExp]>([
  ["no message", { messages: [] }, /Too small/],
  ["a first message that is not the user's", { messages: [assistant(text("hi")), user(text("x"))] }, /first message/],
  ["a last message of the assistant's", { messages: [user(text("do")), assistant(text("hi"))] }, /prefill/],
  ["two messages of a role", { messages: [user(text("a")), user(text("b"))] }, /alternate/],
  ["an empty text", { messages: [user(text(""))] }, /Too small/],
  ["a blank text", { messages: [user(text(" \n"))] }, /non-whitespace/],
  ["a blank system text", { system: [text("")] }, /Too small/],
  [
    "a use without its result",
    { messages: [user(text("do")), assistant(use("a")), user(text("x"))] },
    /without `tool_result`/,
  ],
  [
    "one result of two",
    { messages: [user(text("do")), assistant(use("a"), use("b")), user(result("a"))] },
    /without `tool_result`/,
  ],
  ["a result of nothing", { messages: [user(result("a"))] }, /unexpected `tool_use_id`/],
  [
    "a result of an older use",
    { messages: [user(text("do")), assistant(use("a")), user(result("a")), assistant(text("x")), user(result("a"))] },
    /unexpected/,
  ],
  [
    "two results of one use",
    { messages: [user(text("do")), assistant(use("a")), user(result("a"), result("a"))] },
    /single result/,
  ],
  [
    "results in another order",
    { messages: [user(text("do")), assistant(use("a"), use("b")), user(result("b"), result("a"))] },
    /order/,
  ],
  [
    "text before a result",
    { messages: [user(text("do")), assistant(use("a")), user(text("x"), result("a"))] },
    /before text/,
  ],
  [
    "an id used twice",
    { messages: [user(text("do")), assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))] },
    /unique/,
  ],
  ["a use by the user", { messages: [user(use("a"))] }, /./],
  [
    "input that is no object",
    { messages: [user(text("do")), assistant({ ...use("a"), input: [] }), user(result("a"))] },
    /./,
  ],
  ["a name with a dot", { tools: [{ ...tool, name: "kb.look" }] }, /./],
  ["a name that is too long", { tools: [{ ...tool, name: "x".repeat(129) }] }, /./],
  ["two tools of a name", { tools: [tool, tool] }, /unique/],
  ["a schema that is no object's", { tools: [{ ...tool, input_schema: { anyOf: [] } }] }, /./],
  [
    "uses where no tool is told of",
    { tools: [], messages: [user(text("do")), assistant(use("a")), user(result("a"))] },
    /must define tools/,
  ],
  ["five marks", { messages: [user(...[1, 2, 3, 4, 5].map(() => ({ ...text("x"), ...marked })))] }, /maximum of 4/],
  [
    "a mark on a thought",
    { messages: [user(text("do")), assistant({ ...thought, ...marked }, use("t")), user(result("t"))] },
    /./,
  ],
  [
    "a thought that is altered",
    { messages: [user(text("do")), assistant({ ...thought, thinking: "Hm" }, use("t")), user(result("t"))] },
    /Invalid `signature`/,
  ],
  [
    "a thought that is missing",
    { messages: [user(text("do")), assistant(use("t")), user(result("t"))] },
    /cannot be modified/,
  ],
  [
    "a thought that is not the first",
    { messages: [user(text("do")), assistant(text("x"), thought, use("t")), user(result("t"))] },
    /Expected `thinking`/,
  ],
  [
    "a thought that is the last",
    { messages: [user(text("do")), assistant(text("x"), thought), user(text("y"))] },
    /final block/,
  ],
  [
    "a budget without the thought it began with",
    {
      max_tokens: 5_000,
      thinking: { type: "enabled", budget_tokens: 2_000 },
      messages: [user(text("do")), assistant(use("a")), user(result("a"))],
    },
    /Expected `thinking`/,
  ],
  ["a budget beyond the output", { thinking: { type: "enabled", budget_tokens: 2_000 } }, /greater than/],
  ["half a surrogate pair", { messages: [user(text("\ud800"))] }, /no low surrogate/],
  ["a field nobody knows", { messages: [user({ ...text("x"), code: null })] }, /Unrecognized key/],
])("%s is refused", (_what, over, why) => {
  expect(check(over)).toEqual(expect.stringMatching(why));
});

test("what is not JSON is refused", () => {
  expect(checkRequest("{", said)).toMatch(/not valid JSON/);
});
