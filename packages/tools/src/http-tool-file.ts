import { readFile } from "node:fs/promises";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { httpTool } from "./http-tool.ts";
import { httpToolFile } from "./http-tool-declaration.ts";
import type { LoadedTools } from "./loaded-tools.ts";
import { ToolsError } from "./tools-error.ts";

/** Reads a .json or .yaml file that declares HTTP tools. Throws ToolsError with every problem at once. */
export async function readHttpTools(path: string): Promise<LoadedTools> {
  const parsed = httpToolFile.safeParse(await readData(path));
  if (!parsed.success) throw new ToolsError(`${path} does not declare HTTP tools:\n${z.prettifyError(parsed.error)}`);
  const { tools } = parsed.data;
  return {
    tools: tools.map((tool) => {
      try {
        return httpTool(tool);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new ToolsError(`${path}: the schema of ${tool.name} is not JSON Schema that can be checked: ${why}`);
      }
    }),
    decorators: [],
    capabilities: [...new Set(tools.map(({ signedBy }) => signedBy))],
  };
}

async function readData(path: string): Promise<unknown> {
  try {
    const text = await readFile(path, "utf8");
    return path.endsWith(".json") ? JSON.parse(text) : parseYaml(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ToolsError(`The tools in ${path} could not be read: ${why}`, { cause: error });
  }
}
