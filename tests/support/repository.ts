import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const repositoryRoot = join(import.meta.dirname, "../..");

const notOurs = new Set([".git", "node_modules", ".test-data", ".countersign", "dist", "coverage"]);

/** Every file that belongs to the repository, by its path from the root, sorted; what is installed or generated is left out. */
export function listFiles(folder = ""): string[] {
  return readdirSync(join(repositoryRoot, folder), { withFileTypes: true })
    .filter((entry) => !notOurs.has(entry.name) && !entry.name.endsWith(".log"))
    .flatMap((entry) => {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) return listFiles(path);
      return entry.isFile() ? [path] : [];
    })
    .toSorted();
}

/** The text of a file of the repository. */
export function readText(path: string): string {
  return readFileSync(join(repositoryRoot, path), "utf8");
}
