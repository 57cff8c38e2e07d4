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
  return path.includes("\\") ? "its path has a backslash, which some systems take for a slash" : undefined;
}

/** The path with another name for each part that `findPathProblem` objects to. */
export function withoutPathProblem(path: string): string {
  if (findPathProblem(path) === undefined) return path;
  return path
    .replaceAll("\\", "_")
    .split("/")
    .map((part) => (findPathProblem(part) === undefined ? part : `_${part}`))
    .join("/");
}

/** HFS+ passes over characters that are not seen, and NTFS knows `.git` as `git~1` too. */
function isHidden(part: string): boolean {
  return /^[\p{Default_Ignorable_Code_Point}\p{Cf}\s]*(?:\.|git~\d)/iu.test(part);
}
