import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { constants, existsSync, type Stats } from "node:fs";
import { access, type FileHandle, lstat, mkdir, open, readdir, rename, unlink } from "node:fs/promises";

/** The name of a folder or a file as the system has it, which need not be text. */
type Name = string | Buffer;

/** A folder that is held open, so that what is looked up in it is looked up in this one, whatever stands at its path by now. */
interface HeldFolder {
  place(name: Name): Buffer;
  close(): Promise<void>;
}

/** What is in a folder that is no folder. */
export interface FolderFile {
  /** Its path in the folder, joined by slashes; bytes that are no text stand as `\xE9`. */
  readonly path: string;
  readonly parts: readonly Buffer[];
  /** Why nothing can have this path as its own; undefined where `path` is what the system has. */
  readonly nameProblem: string | undefined;
  /** No link, device or the like. */
  readonly isRegular: boolean;
}

/** A folder that could not be looked into. */
export interface UnreadFolder {
  readonly path: string;
  readonly reason: string;
}

export type ReadResult =
  | { readonly kind: "read"; readonly text: string }
  | { readonly kind: "unread"; readonly reason: string };

export type WriteResult = { readonly kind: "written" } | { readonly kind: "refused"; readonly reason: string };

// Not every system has them, nor an open folder to look up names in; there a link that is made meanwhile may be followed.
const asItself = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const asFolder = asItself | (constants.O_DIRECTORY ?? 0);
const isHolding = existsSync("/proc/self/fd");

/** Every file below `folder`, sorted by path, without `.git`; links are named and not followed. Rejects where the folder cannot be read. */
export async function listFolder(folder: string): Promise<{ files: FolderFile[]; unread: UnreadFolder[] }> {
  const files: FolderFile[] = [];
  const unread: UnreadFolder[] = [];
  const waiting: (readonly Buffer[])[] = [[]];
  for (let parents = waiting.pop(); parents !== undefined; parents = waiting.pop()) {
    const at = [Buffer.from(folder), ...parents].flatMap((part, n) => (n === 0 ? [part] : [Buffer.from("/"), part]));
    const entries = await readdir(Buffer.concat(at), { withFileTypes: true, encoding: "buffer" }).catch(
      (error: unknown) => {
        if (parents.length === 0) throw error;
        unread.push({ path: parents.map(visibleName).join("/"), reason: reasonOf(error) });
        return [];
      },
    );
    for (const entry of entries) {
      const parts = [...parents, entry.name];
      if (entry.name.toString() === ".git") continue;
      if (entry.isDirectory()) waiting.push(parts);
      else {
        const nameProblem = parts.every((part) => isUtf8(part)) ? undefined : "its name is not UTF-8";
        files.push({ path: parts.map(visibleName).join("/"), parts, nameProblem, isRegular: entry.isFile() });
      }
    }
  }
  const byPath = (a: { path: string }, b: { path: string }): number => (a.path < b.path ? -1 : 1);
  return { files: files.toSorted(byPath), unread: unread.toSorted(byPath) };
}

/** The text of a file below `folder`, which is looked for under its very path: no link on the way is followed. */
export async function readFolderFile(folder: string, parts: readonly Name[]): Promise<ReadResult> {
  let bytes: Buffer;
  try {
    bytes = await inFolder(folder, parts, false, async (place) => {
      const handle = await openFile(place, constants.O_RDONLY);
      try {
        return await handle.readFile();
      } finally {
        await handle.close();
      }
    });
  } catch (error) {
    return { kind: "unread", reason: reasonOf(error) };
  }
  if (!isUtf8(bytes)) return { kind: "unread", reason: "it is not UTF-8 text" };
  return { kind: "read", text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes) };
}

/**
 * Writes a file below `folder`, which is there, with the folders that it needs: beside its place first, and then there, so
 * that whoever stops in between leaves the old file whole, and a hidden `.part` that no import takes. What is written never
 * leaves `folder`: no link on the way is followed, also none that somebody puts there meanwhile, and where the file has
 * other names elsewhere, those keep what they have. Refused with the reason where the system does not take it.
 */
export async function writeFolderFile(folder: string, parts: readonly Name[], text: string): Promise<WriteResult> {
  try {
    await inFolder(folder, parts, true, async (place, beside) => {
      const old = await findOld(place);
      const aside = beside(`.export-${randomUUID()}.part`);
      const handle = await open(aside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | asItself, 0o666);
      try {
        try {
          if (old !== undefined) await likeOld(handle, old);
          await handle.writeFile(text);
        } finally {
          await handle.close();
        }
        await rename(aside, place);
      } catch (error) {
        await unlink(aside).catch(() => undefined);
        throw error;
      }
    });
    return { kind: "written" };
  } catch (error) {
    return { kind: "refused", reason: reasonOf(error) };
  }
}

/** The file that stands there; throws where something else does, or it may not be written. */
async function findOld(place: Buffer): Promise<Stats | undefined> {
  const old = await lstat(place).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
    return undefined;
  });
  if (old === undefined) return undefined;
  if (!old.isFile()) throw await oddity(place);
  await access(place, constants.W_OK);
  return old;
}

/** Owner and rights stay as they were, as far as the system lets them. */
async function likeOld(handle: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const made = await handle.stat();
  if (made.uid !== uid || made.gid !== gid) await handle.chown(uid, gid).catch(() => undefined);
  await handle.chmod(mode & 0o777);
}

async function inFolder<R>(
  folder: string,
  parts: readonly Name[],
  isMade: boolean,
  body: (place: Buffer, beside: (name: Name) => Buffer) => Promise<R>,
): Promise<R> {
  let held = await hold(Buffer.from(folder), false);
  try {
    for (const part of parts.slice(0, -1)) {
      const place = held.place(part);
      if (isMade) await mkdir(place).catch(unlessThere);
      const next = await hold(place, true);
      await held.close();
      held = next;
    }
    const { place } = held;
    return await body(place(parts.at(-1) ?? ""), place);
  } finally {
    await held.close();
  }
}

/** Where a system cannot look up names in an open folder, each is looked at instead. */
async function hold(path: Buffer, isItself: boolean): Promise<HeldFolder> {
  if (!isHolding) {
    if (isItself && !(await lstat(path)).isDirectory()) throw await oddity(path);
    return { place: (name) => placeIn(path, name), close: async () => undefined };
  }
  const flags = isItself ? asFolder : constants.O_DIRECTORY;
  const handle = await open(path, flags).catch(async (error: unknown) => {
    throw isItself && codeOf(error) === "ENOTDIR" ? await oddity(path) : error;
  });
  return { place: (name) => placeIn(Buffer.from(`/proc/self/fd/${handle.fd}`), name), close: () => handle.close() };
}

function placeIn(folder: Buffer, name: Name): Buffer {
  return Buffer.concat([folder, Buffer.from("/"), Buffer.from(name)]);
}

async function openFile(place: Buffer, flags: number): Promise<FileHandle> {
  if (!isHolding && (await lstat(place).catch(() => undefined))?.isSymbolicLink() === true) throw await oddity(place);
  const handle = await open(place, flags | asItself, 0o666);
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw await oddity(place);
}

/** Why a file cannot be reached, in words that follow its path. */
class Unreachable extends Error {
  override readonly name = "Unreachable";
}

async function oddity(place: Buffer): Promise<Unreachable> {
  const found = await lstat(place);
  if (found.isSymbolicLink()) return new Unreachable("it is a link or behind one, which may lead anywhere");
  if (found.isDirectory()) return new Unreachable("a folder of its name is there");
  if (found.isFile()) return new Unreachable("a file stands where its folder would be");
  return new Unreachable("it is no regular file");
}

const reasons: Readonly<Record<string, string>> = {
  ELOOP: "it is a link or behind one, which may lead anywhere",
  EISDIR: "a folder of its name is there",
  ENOTDIR: "a file stands where its folder would be",
  EEXIST: "something else is at its place by now",
  ENOENT: "it is gone",
  ENXIO: "it is no regular file",
  ENAMETOOLONG: "a name in its path is longer than the file system takes",
  EACCES: "the system does not permit it",
  EPERM: "the system does not permit it",
  EROFS: "the file system is read-only",
  ENOSPC: "no space is left",
  EDQUOT: "no space is left for this user",
};

function reasonOf(error: unknown): string {
  if (error instanceof Unreachable) return error.message;
  const code = codeOf(error);
  if (code === undefined) throw error;
  return `${reasons[code] ?? "the system refuses it"} (${code})`;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

function unlessThere(error: unknown): void {
  if (codeOf(error) !== "EEXIST") throw error;
}

function visibleName(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const rest = bytes.subarray(at);
    const size = [1, 2, 3, 4].find((length) => length <= rest.length && isUtf8(rest.subarray(0, length)));
    text += size === undefined ? `\\x${rest.toString("hex", 0, 1).toUpperCase()}` : rest.toString("utf8", 0, size);
    at += size ?? 1;
  }
  return text;
}
