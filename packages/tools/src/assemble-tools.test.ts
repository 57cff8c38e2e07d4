import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { OutsideContext, ToolResult } from "@countersign/engine/tool.ts";
import type { RegisteredTool, Tools } from "@countersign/engine/tools.ts";
import { afterAll, describe, expect, test } from "vitest";
import { assembleTools } from "./assemble-tools.ts";
import { ToolsError } from "./tools-error.ts";

// Modules in a folder of the system's cannot import packages of ours, so these are written without.
const folder = mkdtempSync(join(tmpdir(), "countersign-tools-test-"));
afterAll(() => rmSync(folder, { recursive: true }));
const zod = JSON.stringify(import.meta.resolve("zod"));

let counter = 0;
function write(source: string, extension = "ts"): string {
  counter += 1;
  const path = join(folder, `tools-${counter}.${extension}`);
  writeFileSync(path, source);
  return path;
}

function module(tool: string, more = ""): string {
  return write(`
    import { z } from ${zod};
    const schema = z.strictObject({});
    const base = { name: "my.tool", description: "mine", schema, effect: "read-only", execute: async () => ({ kind: "done", content: "mine" }) };
    export const tools = [{ ...base, ${tool} }];
    ${more}`);
}

async function problemOf(...files: string[]): Promise<string> {
  try {
    await assembleTools({ files });
  } catch (error) {
    expect(error).toBeInstanceOf(ToolsError);
    return (error as Error).message;
  }
  throw new Error("nothing was refused");
}

async function run(tools: Tools, name = "my.tool"): Promise<ToolResult> {
  const { tool } = tools.get(name) as RegisteredTool;
  if (tool.effect !== "read-only") throw new Error("it does more than read");
  return await tool.execute({} as never, { workspaceId: "w" } as OutsideContext);
}

describe("tools of one's own", () => {
  test("stand beside those of the catalog", async () => {
    const tools = await assembleTools({ files: [module("")] });
    expect([...tools.keys()]).toEqual(expect.arrayContaining(["kb.read", "mail.send", "my.tool"]));
    expect(await run(tools)).toEqual({ kind: "done", content: "mine" });
  });

  test("of a file outside of every folder that has our packages it is said where it has to lie", async () => {
    const path = write(`import { defineTool } from "@countersign/engine/tool.ts"; export const tools = [defineTool];`);
    const script = `
      const { assembleTools } = await import(${JSON.stringify(import.meta.resolve("./assemble-tools.ts"))});
      await assembleTools({ files: [${JSON.stringify(path)}] }).catch(({ message }) => console.log(message));`;
    // In a process of its own: the tests' loader finds packages from wherever a file lies.
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
    expect(stdout).toContain(`The tools in ${path} could not be loaded: Cannot find package '@countersign/engine'`);
    expect(stdout).toContain("has to lie below a folder in whose node_modules @countersign/engine is installed");
    expect(stdout).toContain("COUNTERSIGN_TOOLS");
  });

  test("bring decorators, which stand around every tool, inside those of the process, in order", async () => {
    const around = (word: string) =>
      `(next) => async (args, context) => { const r = await next(args, context); return { ...r, content: "${word}(" + r.content + ")" }; }`;
    const files = [module("", `export const decorators = [${around("a")}, ${around("b")}];`)];
    const tools = await assembleTools({
      files,
      decorators: [
        (next) => async (args, context) => ({ kind: "done", content: `p(${(await next(args, context)).content})` }),
      ],
    });
    expect(await run(tools)).toEqual({ kind: "done", content: "p(a(b(mine)))" });
  });

  test("are only described where the process does not run them, and are the same tools to an approval", async () => {
    const files = [module("")];
    const described = await assembleTools({ files, mayExecute: false });
    await expect(run(described)).rejects.toThrow("my.tool is not run here");
    const hashOf = (tools: Tools) => tools.get("my.tool")?.definitionHash;
    expect(hashOf(described)).toBe(hashOf(await assembleTools({ files })));
  });

  test("may require a capability that the broker knows or that they bring", async () => {
    const file = module('requires: ["mail.send", "my.write"]', 'export const capabilities = ["my.write"];');
    expect((await assembleTools({ files: [file] })).has("my.tool")).toBe(true);
  });

  test("can be declared over HTTP, in YAML and in JSON", async () => {
    const declared = {
      name: "h.one",
      description: "d",
      url: "https://example.com/x",
      schema: { type: "object" },
      signedBy: "h.call",
    };
    const json = write(JSON.stringify({ tools: [declared] }), "json");
    const yaml = write(
      "tools:\n  - { name: h.two, description: d, url: 'https://example.com', schema: { type: object }, signedBy: h.call }\n",
      "yaml",
    );
    const tools = await assembleTools({ files: [json, yaml] });
    expect([tools.has("h.one"), tools.has("h.two")]).toEqual([true, true]);
  });
});

describe("a configuration is refused at boot, with the reason and the file, where", () => {
  test("a name is there twice, also where it is one of the catalog", async () => {
    expect(await problemOf(module(""), module(""))).toContain('Two tools are named "my.tool"; rename one of them');
    expect(await problemOf(module('name: "kb.read"'))).toContain('Two tools are named "kb.read"');
  });

  test("a tool is advertised without an executor, an effect or a schema", async () => {
    expect(await problemOf(module("execute: undefined"))).toContain(
      '"my.tool" has no executor; give it the function execute',
    );
    expect(await problemOf(module('effect: "question"'))).toContain("give it the function question");
    expect(await problemOf(module('effect: "perhaps"'))).toContain('"my.tool" has the effect "perhaps"');
    expect(await problemOf(module("schema: {}"))).toContain('"my.tool" has no schema');
    expect(await problemOf(module("name: undefined"))).toContain("needs a name and a description");
  });

  test("a capability is known to nobody", async () => {
    const problem = await problemOf(module('requires: ["my.write", "mail.send"]'));
    expect(problem).toMatch(
      /"my.tool" requires the capability "my.write", which nobody knows: export it .*capabilities = \["my\.write"\].*known: .*mail\.send/,
    );
    expect(problem).toContain(folder);
  });

  test("several things are wrong: all are told at once", async () => {
    const problem = await problemOf(module('execute: undefined, requires: ["a.b"]'), module(""));
    expect(problem).toMatch(/no executor[^]*"a\.b"[^]*Two tools are named/);
  });

  test("a module is not there, throws, or exports something else", async () => {
    expect(await problemOf(join(folder, "missing.ts"))).toContain("missing.ts could not be loaded");
    expect(await problemOf(write('throw new Error("not today")'))).toContain("could not be loaded: not today");
    expect(await problemOf(write("export const tools = 5"))).toContain("has to export tools");
    expect(await problemOf(module("", "export const decorate = 1;"))).toContain(
      "exports decorate; a module of tools exports only",
    );
    expect(await problemOf(module("", "export const decorators = [1];"))).toContain("no list of functions");
    expect(await problemOf(module("", 'export const capabilities = ["all"];'))).toContain("no list of names");
  });

  test("a file declares no HTTP tools", async () => {
    expect(await problemOf(write("tools: []", "yaml"))).toContain("does not declare HTTP tools");
    expect(await problemOf(write("{", "json"))).toContain("could not be read");
    const broken = {
      name: "h.one",
      description: "d",
      url: "https://example.com",
      schema: { type: "object", properties: { a: { $ref: "https://x/y" } } },
      signedBy: "h.call",
    };
    expect(await problemOf(write(JSON.stringify({ tools: [broken] }), "json"))).toContain("the schema of h.one");
  });
});
