import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { repositoryRoot } from "./repository.ts";

const unpack = `import chromium from "@sparticuz/chromium"; console.log(await chromium.executablePath());`;

/**
 * Where a Chromium lies that the browser tests start, unpacked on first use. Into the project's own folder: the package
 * takes the system's, which another user's copy may block.
 */
export async function findChromium(): Promise<string> {
  const folder = join(repositoryRoot, ".test-data/chromium");
  mkdirSync(folder, { recursive: true });
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", unpack], {
    cwd: join(repositoryRoot, "apps/web"),
    env: { TMPDIR: folder },
  });
  return stdout.trim();
}
