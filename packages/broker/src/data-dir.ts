import { resolve } from "node:path";

/** Where the keys are unless somebody says otherwise: in the repository, wherever a program was started. */
export const usualDataDir = resolve(import.meta.dirname, "../../..", ".countersign");

/** The folder with the keys, absolute, as `COUNTERSIGN_DATA` gives it; a relative one is below the working folder. */
export function chooseDataDir(given: string | undefined): string {
  return given === undefined || given === "" ? usualDataDir : resolve(given);
}
