import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../../..");
const unpack = `import chromium from "@sparticuz/chromium"; console.log(await chromium.executablePath());`;

/**
 * Where a Chromium lies that the browser tests and the pictures start, unpacked on first use. Into the project's own folder: the package
 * takes the system's, which another user's copy may block.
 */
export async function findChromium(): Promise<string> {
  const folder = join(root, ".test-data/chromium");
  mkdirSync(folder, { recursive: true });
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", unpack], {
    cwd: import.meta.dirname,
    env: { TMPDIR: folder },
  });
  return stdout.trim();
}
