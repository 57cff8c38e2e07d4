import { rmSync } from "node:fs";
import { stopEmbedded } from "../embedded.ts";

/**
 * A program that outlives the test run that started it: when that ends, in whatever way, the other end of its standard
 * input closes; then the server in the folder it was given is stopped and the folder removed.
 */
const dataDir = process.argv[2];
if (dataDir === undefined) throw new Error("Usage: stop-when-orphaned.ts <data folder>");
process.stdin.resume();
process.stdin.once("close", () => void cleanUp(dataDir));

async function cleanUp(folder: string): Promise<void> {
  await stopEmbedded(folder);
  rmSync(folder, { recursive: true, force: true });
}
