import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Where the keys are unless somebody says otherwise: in the repository, wherever a program was started. */
export const usualDataDir = resolve(import.meta.dirname, "../../..", ".countersign");

/** The folder with the keys, absolute, as `COUNTERSIGN_DATA` gives it; a relative one is below the working folder. */
export function chooseDataDir(given: string | undefined): string {
  return given === undefined || given === "" ? usualDataDir : resolve(given);
}

/** Afterwards the folder is there; one that was not, or was empty, is none of Git's: there will be private keys in it. */
export function makeDataDir(folder: string): void {
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0) return;
  try {
    writeFileSync(join(folder, ".gitignore"), "*\n", { flag: "wx" });
  } catch (error) {
    // Another process makes it at the same time.
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}
