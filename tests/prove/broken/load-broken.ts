import { registerHooks } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { applyPatches, type Patch } from "./patch.ts";

const root = join(import.meta.dirname, "../../..");

/** Modules that are loaded from now on are loaded with these patches. */
export function loadBroken(patches: readonly Patch[]): void {
  const files = new Map(patches.map(({ file }) => [join(root, file), file]));
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const file = url.startsWith("file:") ? files.get(fileURLToPath(url.split("?")[0] ?? url)) : undefined;
      if (file === undefined || loaded.source == null) return loaded;
      const text =
        typeof loaded.source === "string" ? loaded.source : Buffer.from(loaded.source as Uint8Array).toString("utf8");
      return { ...loaded, source: applyPatches(file, text, patches) };
    },
  });
}
