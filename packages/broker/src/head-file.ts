import { open, readFile } from "node:fs/promises";
import { parseHeads, type AuditHead } from "./audit-heads.ts";
import { errorCode } from "./key-file.ts";

/** Name, in the data folder, of the file in which the worker gathers heads. */
export const auditHeadFile = "audit-heads.jsonl";

/** Afterwards the heads are on the disk at the end of the file, a line of JSON each. */
export async function appendHeads(path: string, heads: readonly AuditHead[]): Promise<void> {
  if (heads.length === 0) return;
  const file = await open(path, "a", 0o600);
  try {
    await file.appendFile(heads.map((head) => `${JSON.stringify(head)}\n`).join(""));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The heads that a file holds, and the numbers of its lines that are none. A file that is not there holds none. */
export async function readHeadFile(path: string): Promise<ReturnType<typeof parseHeads>> {
  try {
    return parseHeads(await readFile(path, "utf8"));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return { heads: [], badLines: [] };
    throw error;
  }
}
