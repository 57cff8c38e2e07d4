import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const root = import.meta.dirname;
const dist = join(root, "dist");
const stampFile = join(dist, "stamp.txt");

/**
 * Afterwards `dist` holds the pages of the sources as they are, each text also compressed beside it. Does nothing where it
 * holds them already; says which it was.
 */
export async function buildPages(): Promise<"built" | "fresh"> {
  const stamp = stampOfSources();
  if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp) return "fresh";
  await build({ root, logLevel: "warn" });
  for (const file of globSync("**/*.{js,css,html,svg}", { cwd: dist })) {
    const path = join(dist, file);
    writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
  }
  writeFileSync(stampFile, stamp);
  return "built";
}

/** Changes with every source, and with every version of what they are built with. */
function stampOfSources(): string {
  const files = globSync(["src/**/*.{ts,tsx,css}", "public/*", "*.{ts,html,json}"], { cwd: root });
  const hash = createHash("sha256");
  for (const file of files.toSorted())
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update("\0");
  return hash.digest("hex");
}

if (import.meta.main) console.log(`The pages in ${dist}: ${await buildPages()}`);
