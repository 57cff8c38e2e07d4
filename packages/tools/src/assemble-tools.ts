import { recognised } from "@countersign/broker/environment.ts";
import type { Decorator } from "@countersign/engine/decorate-tool.ts";
import { EngineError } from "@countersign/engine/engine-error.ts";
import { registerTools, type Tools } from "@countersign/engine/tools.ts";
import { createCatalog, type CatalogOptions } from "./catalog.ts";
import { loadToolFile } from "./load-tool-file.ts";
import { ToolsError } from "./tools-error.ts";

export interface AssembleOptions extends CatalogOptions {
  /** Paths of modules and of files that declare HTTP tools, absolute. */
  readonly files?: readonly string[];
  /** Stand around every executor, outside those of the modules. */
  readonly decorators?: readonly Decorator[];
  /** False for a process that only describes tools: every executor throws. */
  readonly mayExecute?: boolean;
}

/**
 * All tools of a process: the catalog and those of the configured files, in that order, each with the decorators around
 * it. Throws ToolsError where a file cannot be loaded, a name is there twice or has no executor, or a tool requires a
 * capability that neither the broker nor a file declares.
 */
export async function assembleTools(options: AssembleOptions): Promise<Tools> {
  const { files = [], decorators = [], mayExecute = true } = options;
  const loaded = [];
  // One after the other, so that what modules do when they are loaded happens in the order of the configuration.
  for (const file of files) loaded.push(await loadToolFile(file));
  const capabilities = new Set([
    ...recognised.map(({ capability }) => capability),
    ...loaded.flatMap((one) => one.capabilities),
  ]);
  try {
    return registerTools([...createCatalog(options), ...loaded.flatMap((one) => one.tools)], {
      capabilities,
      decorators: mayExecute ? [...decorators, ...loaded.flatMap((one) => one.decorators)] : [refuseExecution],
    });
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const where = files.length === 0 ? "" : `\nThe configured files are: ${files.join(", ")}`;
    throw new ToolsError(`${error.message}${where}`, { cause: error });
  }
}

const refuseExecution: Decorator =
  (_next, { name }) =>
  () =>
    Promise.reject(new Error(`${name} is not run here: this process only describes tools`));
