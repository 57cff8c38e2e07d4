import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { BrokerError } from "./broker-error.ts";

/**
 * The text of a file that only this user may read; undefined where there is none. Throws `key_file_exposed` when others
 * may reach it, `key_invalid` when it is no plain file of ours. `what` names it in messages.
 */
export async function readKeyFile(path: string, what: string): Promise<string | undefined> {
  let file;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw new BrokerError(
      "key_invalid",
      `${what} ${path} cannot be opened (${errorCode(error)}). It should be a plain file that this user owns.`,
    );
  }
  try {
    const mode = (await file.stat()).mode & 0o777;
    if ((mode & 0o077) !== 0) {
      throw new BrokerError(
        "key_file_exposed",
        `${what} ${path} has mode ${mode.toString(8).padStart(4, "0")}, so others on this machine can reach it, and it opens or signs what only this program may. Run: chmod 600 ${path}`,
      );
    }
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

/**
 * Afterwards `path` holds a key file of mode 0600: `text`, or what another process put there first. It appears whole or
 * not at all, and is on the disk.
 */
export async function makeKeyFile(folder: string, name: string, text: string): Promise<void> {
  const draft = draftOf(folder, name);
  try {
    await writeDurably(draft, text, 0o600);
    // A link appears whole or not at all, and only once: whoever loses reads the winner's key.
    await link(draft, join(folder, name));
    await syncFolder(folder);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Afterwards the file of this name is `text`, whole and on the disk, whatever it was before. */
export async function replaceFile(folder: string, name: string, text: string, mode: number): Promise<void> {
  const draft = draftOf(folder, name);
  await writeDurably(draft, text, mode);
  await rename(draft, join(folder, name));
  await syncFolder(folder);
}

/** Without this, a power cut could take the key and leave the secrets that were sealed to it. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The system's code of an error, such as `ENOENT`. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown";
}

function draftOf(folder: string, name: string): string {
  return join(folder, `.${name}.${randomUUID()}`);
}

async function writeDurably(path: string, text: string, mode: number): Promise<void> {
  const file = await open(path, "wx", mode);
  try {
    await file.writeFile(text + "\n");
    await file.sync();
  } finally {
    await file.close();
  }
}
