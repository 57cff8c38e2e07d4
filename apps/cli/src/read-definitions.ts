import { ask, type Client } from "./client.ts";
import { readEveryPage } from "./every-page.ts";

/** The definitions in their current version, each with what its toolset names and the server has no tool for. */
export async function readDefinitions(client: Client) {
  const [{ tools }, definitions] = await Promise.all([
    ask(client.v1.tools.$get()),
    readEveryPage(async (query) => {
      const { definitions: rows, nextCursor } = await ask(client.v1.definitions.$get({ query }));
      return { rows, nextCursor };
    }),
  ]);
  const known = new Set<unknown>(tools.map(({ name }) => name));
  return definitions.map((definition) => {
    const { toolset } = definition.spec;
    const named: unknown[] = Array.isArray(toolset) ? toolset : [];
    return { ...definition, missingTools: named.filter((tool) => !known.has(tool)).map(String) };
  });
}

/** What to do where tools are missing. */
export const missingToolsAdvice =
  "Start server and worker with the COUNTERSIGN_TOOLS that has them, or take them out of the toolset.";
