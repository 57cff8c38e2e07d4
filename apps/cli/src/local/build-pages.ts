import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { repositoryRoot } from "../config.ts";

/**
 * Builds the web app where its sources are newer than what was built. Returns what went wrong, in one line; the server
 * then serves what was built before, or HTTP alone. A process of its own, since the bundler would stay in memory.
 */
export async function buildPages(): Promise<string | undefined> {
  try {
    await promisify(execFile)(process.execPath, [join(repositoryRoot, "apps/web/build.ts")]);
    return undefined;
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr) : String(error);
    return said.split("\n").find((line) => line.trim() !== "") ?? "the build failed";
  }
}
