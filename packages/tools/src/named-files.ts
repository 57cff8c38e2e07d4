import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { constants, open, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Precondition } from "@countersign/engine/tool.ts";
import { type FileNames, fileNamesIn } from "./file-names.ts";

/** The files that a command names and may run, as they are now. */
export interface NamedFiles {
  readonly files: readonly Precondition[];
  /** What a person is to know of them, also of what is not among them. Empty where the command runs none. */
  readonly message: string;
}

/** How many places are looked at, how many files are bound, and how many bytes of them are hashed. */
const mostPaths = 10_000;
const mostFiles = 100;
const mostBytes = 64 * 1024 * 1024;
/** Names that only the shell can tell, as far as a card shows them. */
const mostUnknown = 5;

/**
 * Every regular file that a command names and that something in it might run, in its folder and in every folder that it
 * names: with the sha256 of its content, else with its size, inode and time of change. Looks and never runs; without a
 * folder, names are of the fresh one that the command would get.
 */
export async function findNamedFiles(command: string, cwd: string | undefined): Promise<NamedFiles> {
  const said = fileNamesIn(command);
  if (said === undefined) return { files: [], message: "" };
  const found = await lookFor(said, cwd ?? join(tmpdir(), "countersign-command-fresh"));
  const files: Precondition[] = [];
  let left = mostBytes;
  for (const { path, stats } of found.files) {
    const hash = stats instanceof Error ? `unreadable: ${codeOf(stats)}` : await hashOf(path, stats, left);
    if (!(stats instanceof Error) && isHash(hash)) left -= Number(stats.size);
    files.push({ kind: "script", name: path, hash });
  }
  return { files, message: messageFor(files, said, found.isCut) };
}

interface Found {
  readonly files: { readonly path: string; readonly stats: BigIntStats | Error }[];
  isCut: boolean;
}

/** Folders are looked into in turn: `cd a && cd b`, `-C a`, a search path. */
async function lookFor({ names, systemPrograms, isCut }: FileNames, start: string): Promise<Found> {
  const found: Found = { files: [], isCut };
  const kernel = await kernelDevices();
  const seen = new Set(systemPrograms);
  const folders = [start];
  for (const folder of folders) {
    const paths = [...new Set(names.map((name) => resolve(folder, name)))].filter((path) => !seen.has(path));
    const room = paths.slice(0, mostPaths - seen.size);
    found.isCut ||= room.length < paths.length;
    const all = await Promise.all(room.map(async (path) => ({ path, stats: await look(path) })));
    for (const { path, stats } of all) {
      seen.add(path);
      if (stats === undefined) continue;
      if (stats instanceof Error || (stats.isFile() && !kernel.has(stats.dev))) found.files.push({ path, stats });
      else if (stats.isDirectory()) folders.push(path);
    }
  }
  found.isCut ||= found.files.length > mostFiles;
  return { ...found, files: found.files.slice(0, mostFiles) };
}

/** Where the kernel tells of itself: it says something else each time, and nobody can have left a script there. */
async function kernelDevices(): Promise<ReadonlySet<bigint>> {
  const all = await Promise.all(["/proc", "/sys"].map(look));
  return new Set(all.flatMap((stats) => (stats === undefined || stats instanceof Error ? [] : [stats.dev])));
}

/** Undefined where there is nothing of that name; an error where nobody can tell. */
async function look(path: string): Promise<BigIntStats | Error | undefined> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    const isNone = ["ENOENT", "ENOTDIR", "ENAMETOOLONG", "ELOOP"].includes(codeOf(error));
    if (isNone) return undefined;
    return error instanceof Error ? error : new Error("no reason given");
  }
}

async function hashOf(path: string, stats: BigIntStats, most: number): Promise<string> {
  const stamp = `${stats.size} bytes, inode ${stats.ino}, changed ${stats.ctimeNs}`;
  if (stats.size > BigInt(most)) return stamp;
  try {
    // It may have become a pipe meanwhile, which would be waited for.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const hash = createHash("sha256");
    const size = Number(stats.size);
    // No further than it was long: it may grow faster than it is read.
    if (size > 0) await pipeline(file.createReadStream({ end: size - 1, autoClose: false }), hash);
    return hash.digest("hex");
  } catch {
    return stamp;
  }
}

function isHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}

function messageFor(files: readonly Precondition[], { unknown }: FileNames, isCut: boolean): string {
  const parts: string[] = [];
  if (files.length > 0)
    parts.push(
      "It names the files below and may run any of them. The approval holds for what they are now: where one has changed, or another that it names has come, it asks again.",
    );
  if (!files.every(({ hash }) => isHash(hash)))
    parts.push("Those without a hash, being large or unreadable, are told apart by size and time of change.");
  if (isCut)
    parts.push("It names more than was looked at: other files that it runs may have changed by the time it runs them.");
  if (unknown.length > 0) {
    const shown = unknown.slice(0, mostUnknown).map((text) => text.replaceAll(/\s+/g, " ").slice(0, 60));
    const more = unknown.length > mostUnknown ? ` and ${unknown.length - mostUnknown} more` : "";
    parts.push(`Not bound, since only the shell can tell what it names: ${shown.join("  ")}${more}.`);
  }
  return parts.join(" ");
}
