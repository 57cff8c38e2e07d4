import type { Tx } from "@countersign/db/connect.ts";
import type { Reader, Writer } from "./scope.ts";
import { findTextProblem, joinWords, mostSlugBytes } from "./text.ts";

const mostKeyBytes = 2_000;

/**
 * What all spellings of one directory have in common, and no other directory has: the slugs of its parts. A part without
 * letters and digits stands for itself. The key of a key is that key.
 */
export function directoryKeyOf(dir: string): string {
  return partsOf(dir).map(partKeyOf).join("/");
}

/**
 * Afterwards the directory is one that the rules know, under this spelling. Where it was, its row is not locked: who writes
 * pages of one directory does not wait for whoever else does.
 */
export async function keepDirectory({ tx, workspaceId }: Pick<Reader, "tx" | "workspaceId">, dir: string) {
  const key = directoryKeyOf(dir);
  await tx`
    insert into directories as d (workspace_id, dir, key)
    select ${workspaceId}::uuid, ${dir}::text, ${key}::text
     where not exists (select from directories k where k.workspace_id = ${workspaceId} and k.dir = ${dir} and k.key = ${key})
    on conflict (workspace_id, dir) do update set key = excluded.key where d.key <> excluded.key`;
}

/** True where the writer may make and change pages directly in `dir`, which need not be there yet. */
export async function mayWriteIn({ tx, workspaceId, userId }: Writer, dir: string): Promise<boolean> {
  const [found] = await tx<{ level: string }[]>`
    select directory_level(${workspaceId}::uuid, ${userId}::uuid, ${directoryKeyOf(dir)}) as level`;
  return found?.level === "write";
}

/**
 * Where a page goes that is to stand in `dir`: a spelling of it that is there and that the writer sees, the one asked for
 * first, else its key. Refused where it cannot be a directory.
 */
export async function findDirectory(
  { tx, workspaceId, userId }: Reader,
  dir: string,
): Promise<{ readonly kind: "found"; readonly dir: string } | { readonly kind: "refused"; readonly reason: string }> {
  const problem = findDirProblem(dir);
  if (problem !== undefined) return { kind: "refused", reason: `The directory cannot be used: ${problem}.` };
  const key = directoryKeyOf(dir);
  const spelling = await findSpelling(tx, workspaceId, dir);
  if (spelling === undefined) return newDirectory(key);
  const [found] = await tx<{ level: string }[]>`
    select directory_level(${workspaceId}::uuid, ${userId}::uuid, ${key}) as level`;
  return found?.level === "none" ? newDirectory(key) : { kind: "found", dir: spelling };
}

/** Its parts become the names of folders. */
function newDirectory(key: string) {
  const long = partsOf(key).find((part) => Buffer.byteLength(part) > mostSlugBytes);
  if (long === undefined) return { kind: "found", dir: key } as const;
  const size = Buffer.byteLength(long);
  const reason = `The directory cannot be used: its part ${JSON.stringify(long)} has ${size} bytes; at most ${mostSlugBytes} may be.`;
  return { kind: "refused", reason } as const;
}

/** How a directory of this key is written here, as asked where that is one of several ways; undefined where it is not there. */
export async function findSpelling(tx: Tx, workspaceId: string, dir: string): Promise<string | undefined> {
  const key = directoryKeyOf(dir);
  const [row] = await tx<{ dir: string }[]>`
    select dir from directories
     where workspace_id = ${workspaceId} and key = ${key}
     order by dir <> ${partsOf(dir).join("/")}, dir <> ${key}, dir
     limit 1`;
  return row?.dir;
}

function findDirProblem(dir: string): string | undefined {
  const problem = findTextProblem(dir);
  if (problem !== undefined) return problem;
  if (dir.length > 300) return `it has ${dir.length} characters; a directory has at most 300`;
  // Some letters stand for many; a directory made here is written as its key.
  if (Buffer.byteLength(directoryKeyOf(dir)) > mostKeyBytes) return "its letters, written out, are too many";
  const odd = partsOf(dir).find((part) => !/[\p{L}\p{N}]/u.test(part));
  return odd === undefined ? undefined : `its part ${JSON.stringify(odd)} holds no letter or digit`;
}

function partKeyOf(part: string): string {
  if (!/[\p{L}\p{M}\p{N}]/u.test(part.normalize("NFKC"))) return part.trim();
  // What was cut to length, or folded, may fold once more.
  let key = wordsOf(part);
  for (let next = wordsOf(key); next !== key; next = wordsOf(key)) key = next;
  return key;
}

/** Not cut to what a file name holds, as a slug is: two closed directories with a long name in common are two. */
function wordsOf(part: string): string {
  return joinWords(part) || "page";
}

function partsOf(dir: string): string[] {
  return dir.split("/").filter((part) => part.trim() !== "");
}
