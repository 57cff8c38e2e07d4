import { describe, expect, test } from "vitest";
import * as z from "zod";
import { checkArguments } from "./arguments.ts";
import { makeTool } from "./testing/make-call.ts";

const address = z.object({ to: z.array(z.object({ host: z.string() })), n: z.int() });

function throwing(): never {
  throw new TypeError("broken tool");
}

describe("checkArguments", () => {
  test("names the path of the first fault and tells the model of all", () => {
    const tool = makeTool({ schema: address });
    expect(checkArguments(tool, '{"to":[{"host":"a"},{"host":1}],"n":0.5}')).toEqual({
      kind: "invalid",
      path: "$.to[1].host",
      detail: expect.stringMatching(/^\$\.to\[1\]\.host: .*; \$\.n: /),
    });
  });

  test.each([
    ["text that is not JSON", "nope"],
    ["JSON of another type", "[]"],
    ["a number beyond a double", '{"a":1e400}'],
    ["text over size", JSON.stringify({ a: "x".repeat(300_000) })],
  ])("puts %s at the root", (_what, argsText) => {
    expect(checkArguments(makeTool(), argsText)).toMatchObject({ kind: "invalid", path: "$" });
  });

  test("checks the JSON even of a tool that nobody knows", () => {
    expect(checkArguments(undefined, "nope")).toMatchObject({ kind: "invalid", path: "$" });
    expect(checkArguments(undefined, "{}")).toMatchObject({ kind: "valid" });
  });

  test("quotes and cuts keys of the model's making", () => {
    const tool = makeTool({ schema: z.record(z.string(), z.string()) });
    const odd = checkArguments(tool, JSON.stringify({ "a b\n": 1 }));
    expect(odd).toMatchObject({ path: String.raw`$["a b\n"]` });
    const long = checkArguments(tool, JSON.stringify({ ["k".repeat(5_000)]: 1 }));
    expect(long.kind === "invalid" && long.path.length).toBe(200);
  });

  test("bounds what it tells of very many faults", () => {
    const tool = makeTool({ schema: z.array(z.string()) });
    const checked = checkArguments(tool, JSON.stringify(Array.from({ length: 10_000 }, () => 1)));
    expect(checked).toMatchObject({
      path: "$[0]",
      detail: expect.stringMatching(/and 9950 more$/),
    });
  });

  test.each([
    ["throws", z.object({ a: z.string().refine(throwing) })],
    ["answers only later", z.object({ a: z.string().refine(async () => Promise.resolve(true)) })],
  ])("refuses where the schema %s", (_what, schema) => {
    expect(checkArguments(makeTool({ schema }), '{"a":"x"}')).toMatchObject({
      kind: "invalid",
      path: "$",
    });
  });

  test("hands on what the schema made of the arguments, and nothing it does not know", () => {
    const schema = z.object({ a: z.string(), limit: z.int().default(10) });
    const argsText = '{"a":"x","b":1,"__proto__":{"limit":1}}';
    expect(checkArguments(makeTool({ schema }), argsText)).toEqual({
      kind: "valid",
      args: { a: "x", limit: 10 },
      units: [{ text: "demo" }],
    });
  });

  test("leaves the schema of an MCP tool to its server, and hands on the arguments untouched", () => {
    const tool = makeTool({ server: "s", schema: z.object({ n: z.int() }) });
    expect(checkArguments(tool, '{"n":"x","more":[1]}')).toMatchObject({ args: { n: "x", more: [1] } });
    expect(checkArguments(tool, "nope")).toMatchObject({ kind: "invalid", path: "$" });
  });
});

describe("units", () => {
  const schema = z.object({ url: z.string(), body: z.string().optional() });
  const byText = makeTool({ schema, units: (args) => [schema.parse(args).url] });
  const byHost = makeTool({ schema, units: (args) => [new URL(schema.parse(args).url).hostname] });

  test.each([byText, byHost])("AZ19: a host with a NUL byte is invalid, with its path", (tool) => {
    const argsText = JSON.stringify({ url: "http://evil.test\0.good.test/" });
    expect(checkArguments(tool, argsText)).toMatchObject({ kind: "invalid", path: "$.url" });
  });

  test.each(["\0", "\u0001", "\b", "\u001b", "\u007f", "\u0085", "\u009f"])(
    "AZ19: a command that holds %j is invalid",
    (control) => {
      const argsText = JSON.stringify({ url: `ls ${control} x` });
      expect(checkArguments(byText, argsText)).toMatchObject({ kind: "invalid", path: "$.url" });
    },
  );

  test("tab, line feed and carriage return may stand in a unit", () => {
    const argsText = JSON.stringify({ url: "a\tb\nc\r\n" });
    expect(checkArguments(byText, argsText)).toMatchObject({
      kind: "valid",
      units: [{ text: "a\tb\nc\r\n" }],
    });
  });

  test("text that becomes no unit may hold any character", () => {
    const argsText = JSON.stringify({ url: "a", body: "\0\u001b" });
    expect(checkArguments(byText, argsText)).toMatchObject({ kind: "valid", units: [{ text: "a" }] });
  });

  test("the fault lies with the text that reached the unit, not with another", () => {
    const argsText = JSON.stringify({ body: "\u0001", url: "a\0b" });
    expect(checkArguments(byText, argsText)).toMatchObject({ path: "$.url" });
  });

  test("a control character that the tool itself put into a unit lies at the root", () => {
    const tool = makeTool({ units: () => ["a\0"] });
    expect(checkArguments(tool, '{"a":"x"}')).toMatchObject({ kind: "invalid", path: "$" });
  });

  test.each([
    ["throws", throwing],
    ["answers with no list", (): never => JSON.parse('"x"') as never],
    ["answers with other things than units", (): never => JSON.parse("[1]") as never],
    ["answers with units without a text", (): never => JSON.parse('[{"key":"a"}]') as never],
    ["answers with odd keys", (): never => JSON.parse('[{"text":"a","key":1}]') as never],
    ["answers with odd commands", (): never => JSON.parse('[{"text":"a","commands":["rm"]}]') as never],
    ["answers with a denylist of bare names", (): never => JSON.parse('[{"text":"a","denylisted":["rm"]}]') as never],
    ["answers with a refusal that says nothing", (): never => JSON.parse('{"kind":"refused"}') as never],
  ])("a tool whose units function %s leaves the units unknown", (_what, units) => {
    expect(checkArguments(makeTool({ units }), '{"a":"x"}')).toEqual({
      kind: "valid",
      args: { a: "x" },
      units: undefined,
    });
  });

  test("what cannot be taken apart within bounds is invalid, in the tool's words", () => {
    const tool = makeTool({ units: () => ({ kind: "refused", problem: "the command has 9000 bytes" }) });
    expect(checkArguments(tool, '{"a":"x"}')).toEqual({
      kind: "invalid",
      path: "$",
      detail: "the command has 9000 bytes",
    });
  });

  test.each([
    ['{"path":"src/x","n":1}', "mcp_fs_demo src/x"],
    ['{"n":1,"path":"src/x","other":"y"}', "mcp_fs_demo src/x"],
    ['{"n":1}', "mcp_fs_demo"],
    ['["x"]', "mcp_fs_demo"],
    ['"x"', "mcp_fs_demo"],
  ])("an MCP call with %s is known as %s", (argsText, text) => {
    expect(checkArguments(makeTool({ server: "fs" }), argsText)).toMatchObject({ units: [{ text }] });
    expect(checkArguments(makeTool({ server: "fs", name: "mcp_fs_demo" }), argsText)).toMatchObject({
      units: [{ text }],
    });
  });

  test("which text of an MCP call is the first is for its schema to say, not for the model", () => {
    const tool = makeTool({ server: "fs", schema: z.object({ path: z.string(), mode: z.string() }) });
    for (const argsText of [
      '{"mode":"r","path":"/etc/a"}',
      '{"x":"src/a","mode":"r","path":"/etc/a"}',
      '{"1":"a","path":"/etc/a"}',
    ])
      expect(checkArguments(tool, argsText)).toMatchObject({ units: [{ text: "mcp_fs_demo /etc/a" }] });
  });

  test("AZ19: an MCP call is invalid where its first text holds a control character", () => {
    const tool = makeTool({ server: "fs" });
    expect(checkArguments(tool, JSON.stringify({ path: "a\0b" }))).toMatchObject({ path: "$.path" });
    expect(checkArguments(tool, JSON.stringify({ path: "a", body: "\u001b" }))).toMatchObject({ kind: "valid" });
  });
});
