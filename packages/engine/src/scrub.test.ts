import { expect, test } from "vitest";
import type { ModelReply } from "./model.ts";
import { type Scrub, scrubNothing, scrubReply, scrubRequest } from "./scrub.ts";

const scrub: Scrub = { ...scrubNothing, text: (text) => text.replaceAll(/n3edle|12345678/g, "[redacted x]") };
const usage = { inputTokens: 0, outputTokens: 0, costMicros: 0 };

function argsOf(argsText: string): string {
  const said: ModelReply = { content: [{ type: "tool_use", id: "t", name: "tool", argsText }], usage };
  const [block] = scrubReply(scrub, said).content;
  return block?.type === "tool_use" ? block.argsText : "";
}

test("arguments without a value stay exactly as the model wrote them", () => {
  const exact = '{ "a":1.0,  "b" : "\\u0041", "c": 12345678901234567890 }'.replace("12345678901234567890", "1e400");
  expect(argsOf(exact)).toBe(exact);
});

test.each([
  ["in a string", '{"a":"is n3edle"}', '{"a":"is [redacted x]"}'],
  [
    "in a string that is JSON itself, escaped otherwise",
    '{"a":"{\\"b\\":\\"\\u006e3edle\\"}"}',
    '{"a":"{\\"b\\":\\"[redacted x]\\"}"}',
  ],
  ["as a key", '{"n3edle":1}', '{"[redacted x]":1}'],
  ["as a number", '{"a":12345678}', '{"a":"[redacted x]"}'],
])("a value %s goes, and the arguments stay JSON", (_where, given, expected) => {
  const scrubbed = argsOf(given);
  expect(() => JSON.parse(scrubbed) as unknown).not.toThrow();
  expect(scrubbed).toBe(expected);
});

test("where taking a value out would break the JSON, it becomes a text, which no tool takes for arguments", () => {
  const scrubbed = argsOf('{"a":"\\n3edle"}');
  expect(JSON.parse(scrubbed)).toBe('{"a":"\\[redacted x]"}');
});

test("what is no JSON, or nested too deep to be written again, is scrubbed as text", () => {
  const deep = (inside: string): string => `${"[".repeat(100_000)}"${inside}"${"]".repeat(100_000)}`;
  expect(argsOf(deep("hay"))).toBe(deep("hay"));
  expect(argsOf(deep("n3edle"))).toBe(deep("[redacted x]"));
  expect(argsOf("{ n3edle")).toBe("{ [redacted x]");
});

test("texts, names of tools and results are scrubbed; what is signed goes whole or not at all", () => {
  const opaque = (json: string) => ({ type: "opaque", provider: "p", json }) as const;
  const said: ModelReply = {
    content: [
      { type: "text", text: "n3edle" },
      { type: "tool_use", id: "t", name: "n3edle", argsText: "{}" },
      opaque('{"thinking":"n3edle"}'),
      opaque('{"thinking":"hay"}'),
    ],
    usage,
  };
  expect(scrubReply(scrub, said).content).toEqual([
    { type: "text", text: "[redacted x]" },
    { type: "tool_use", id: "t", name: "[redacted x]", argsText: "{}" },
    opaque('{"thinking":"hay"}'),
  ]);
  const told = scrubRequest(scrub, {
    workspaceId: "w",
    runId: "r",
    definition: "d",
    model: "m",
    system: "n3edle",
    messages: [
      {
        role: "user",
        content: [{ type: "tool_result", toolUseId: "t", content: "n3edle", isError: false, code: null }],
      },
    ],
    tools: [],
    maxOutputTokens: 1,
  });
  expect(JSON.stringify(told)).not.toContain("n3edle");
});
