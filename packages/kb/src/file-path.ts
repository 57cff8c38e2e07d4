import { cutToBytes } from "./text.ts";

/** What file systems take as one name. */
const mostNameBytes = 255;

/**
 * Says why a file of a page cannot stand at this path of a folder or a repository, in words for whoever sent it; undefined
 * where it can. Hidden parts are what programs keep for themselves (`.git`, also as other file systems write it), and none
 * leads out of the folder.
 */
export function findPathProblem(path: string): string | undefined {
  const parts = path.split("/");
  if (parts.some((part) => /^\.{0,2}$/.test(part.trim()))) return "its path has an empty part, . or ..";
  const hidden = parts.find(isHidden);
  if (hidden !== undefined) return `its path has the hidden part ${JSON.stringify(hidden)}`;
  if (path.includes("\\")) return "its path has a backslash, which some systems take for a slash";
  const long = parts.find(isTooLong);
  if (long === undefined) return undefined;
  return `its path has a part of ${Buffer.byteLength(long)} bytes, and a file's name has at most ${mostNameBytes}: ${JSON.stringify(`${cutToBytes(long, 40)}…`)}`;
}

/** The path with another name for each part that `findPathProblem` objects to. */
export function withoutPathProblem(path: string): string {
  if (findPathProblem(path) === undefined) return path;
  return path
    .replaceAll("\\", "_")
    .split("/")
    .map((part) => (/^\.{0,2}$/.test(part.trim()) || isHidden(part) ? `_${part}` : part))
    .map((part) => (isTooLong(part) ? shorten(part) : part))
    .join("/");
}

/** Every folder that a file of this path lies in. */
export function foldersOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, n) => parts.slice(0, n + 1).join("/"));
}

function isTooLong(part: string): boolean {
  return Buffer.byteLength(part) > mostNameBytes;
}

/** With room for a number behind it. */
function shorten(part: string): string {
  const [ending = ""] = /\.md$/i.exec(part) ?? [];
  return cutToBytes(part, mostNameBytes - ending.length - 15) + ending;
}

/** HFS+ passes over characters that are not seen, and NTFS knows `.git` as `git~1` too. */
function isHidden(part: string): boolean {
  return /^[\p{Default_Ignorable_Code_Point}\p{Cf}\s]*(?:\.|git~\d)/iu.test(part);
}
