/** Folders without which the system does not work, with all that is in them. */
const systemFolders = ["bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "usr"];
/** Folders whose loss is as bad, though single things in them come and go. */
const rootFolders = [...systemFolders, "home", "opt", "root", "srv", "var", "run", "mnt", "media"];

const rawDisk =
  /^\/dev\/(?:(?:s|h|v|xv)d[a-z]|nvme\d|mmcblk\d|r?disk\d|disk\/|mapper\/|dm-\d|md\d|nbd\d|loop\d|zd\d|sr\d|pmem\d|block\/)/;
const rawMemory = /^(?:\/dev\/(?:k?mem|port)|\/proc\/kcore|\/proc\/(?:\d+|self)\/mem)$/;

/** A path without `//`, `/./`, `..` and a slash at the end; the home folder, however it is written, is `~`. */
export function normalizePath(written: string): string {
  const path = written.replace(/^file:\/\//i, "").replace(/^\$(?:HOME\b|\{HOME\})/, "~");
  if (!path.startsWith("/")) {
    let end = path.length;
    while (path.charAt(end - 1) === "/") end -= 1;
    return path.slice(0, end) || path;
  }
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** The paths that a word may name: itself, and what stands after `=`, `@`, `:` or an option's letter. */
export function pathsIn(word: string): readonly string[] {
  const inside = word.split(/[=@:,]/).filter((part) => part.startsWith("/") || part.startsWith("~"));
  const attached = /^-[A-Za-z](?=[/~])(.*)$/s.exec(word)?.[1];
  return [word, ...inside, ...(attached === undefined ? [] : [attached])].map(normalizePath);
}

/** `/`, a folder of the system, or everything in one of them. */
export function isSystemPath(path: string): boolean {
  const [first = "", second, third] = normalizePath(path).slice(1).split("/");
  if (!path.startsWith("/")) return false;
  if (first === "" || /^[.*?]+$/.test(first)) return true;
  if (systemFolders.includes(first)) return true;
  return rootFolders.includes(first) && (second === undefined || (/^[.*?]+$/.test(second) && third === undefined));
}

/** Inside a folder that only the system writes. */
export function isInSystemFolder(path: string): boolean {
  const [first = "", second] = normalizePath(path).slice(1).split("/");
  return (
    path.startsWith("/") && systemFolders.includes(first) && !["dev", "proc"].includes(first) && second !== undefined
  );
}

/** The home folder, of this or another user, or everything in it. */
export function isHome(path: string): boolean {
  return /^~[\w.-]*(?:\/[.*?]*)?$/.test(normalizePath(path));
}

/** Whether a path is a disk or a part of one, past its file system. */
export function isRawDisk(path: string): boolean {
  return rawDisk.test(normalizePath(path));
}

/** Whether a path is the memory of the machine. */
export function isRawMemory(path: string): boolean {
  return rawMemory.test(normalizePath(path));
}

/** Whether a path, which may have wildcards in it, can be the file. */
export function mayBeFile(path: string, file: string): boolean {
  if (path === file) return true;
  return /[*?[]/.test(path) && path.startsWith("/") && matchesWildcards(path, file);
}

/** Wildcards as the shell has them, a bracket expression standing for any character. Takes linear steps back only. */
function matchesWildcards(written: string, text: string): boolean {
  // Behind the last closing bracket every other one is a character of its own.
  const closed = written.lastIndexOf("]") + 1;
  const pattern = written.slice(0, closed).replaceAll(/\[[^\]]*\]/g, "?") + written.slice(closed);
  let [at, from, star, resume] = [0, 0, -1, 0];
  while (at < text.length) {
    const wanted = pattern[from];
    if (wanted === "*") [star, resume, from] = [from, at, from + 1];
    else if (wanted === "?" || wanted === text[at]) [at, from] = [at + 1, from + 1];
    else if (star !== -1) [from, resume, at] = [star + 1, resume + 1, resume + 1];
    else return false;
  }
  return /^\**$/.test(pattern.slice(from));
}
