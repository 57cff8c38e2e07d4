import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Decorator } from "@countersign/engine/decorate-tool.ts";
import type { Tool } from "@countersign/engine/tool.ts";
import { readHttpTools } from "./http-tool-file.ts";
import { isCapability, type LoadedTools } from "./loaded-tools.ts";
import { ToolsError } from "./tools-error.ts";

const repositoryRoot = resolve(import.meta.dirname, "../../..");
const known = new Set(["tools", "decorators", "capabilities"]);

/**
 * Loads a module that exports `tools`, and perhaps `decorators` and `capabilities`, or a .json or .yaml file that declares
 * HTTP tools. Throws ToolsError where it cannot be loaded or exports something else.
 */
export async function loadToolFile(path: string): Promise<LoadedTools> {
  if ([".json", ".yaml", ".yml"].includes(extname(path))) return await readHttpTools(path);
  const exported = await importModule(path);
  const unknown = Object.keys(exported).filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw new ToolsError(
      `${path} exports ${unknown.join(", ")}; a module of tools exports only ${[...known].join(", ")}`,
    );
  const { tools, decorators = [], capabilities = [] } = exported;
  if (!isList(tools, isObject)) throw new ToolsError(`${path} has to export tools, a list of what defineTool returns`);
  if (!isList(decorators, (one) => typeof one === "function"))
    throw new ToolsError(`${path} exports decorators that are no list of functions`);
  if (!isList(capabilities, isCapability))
    throw new ToolsError(`${path} exports capabilities that are no list of names such as weather.read`);
  return {
    tools: tools as unknown as readonly Tool[],
    decorators: decorators as unknown as readonly Decorator[],
    capabilities: capabilities as unknown as readonly string[],
  };
}

async function importModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ToolsError(`The tools in ${path} could not be loaded: ${why}${whereItHasToLie(error)}`, { cause: error });
  }
}

/** Node looks for a package in the folders above the file that imports it, wherever the process was started. */
function whereItHasToLie(error: unknown): string {
  const isMissing = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
  const name = isMissing ? /Cannot find package '(@countersign\/[\w-]+)/.exec(error.message)?.[1] : undefined;
  if (name === undefined) return "";
  return `\nThe file has to lie below a folder in whose node_modules ${name} is installed, such as this repository: ${repositoryRoot}. Move it there, and name it in COUNTERSIGN_TOOLS where it is then.`;
}

function isList(value: unknown, isOne: (one: unknown) => boolean): value is readonly unknown[] {
  return Array.isArray(value) && value.every(isOne);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
