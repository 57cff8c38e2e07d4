import { readFolderFile, writeFolderFile } from "@countersign/kb/folder-files.ts";

/** The file of a folder that says what its pages' files were when they were written out or imported last. */
export const statesName = ".countersign.json";

/** What a file was: a digest of its text, and the revision of its page at that time. */
export interface FileState {
  readonly revision: number;
  readonly sha256: string;
}

/** By the paths of the files. */
export type FolderStates = Map<string, FileState>;

/** What a folder has noted of its files; undefined where nothing was ever exported to it, or what it noted cannot be read. */
export async function readStates(folder: string): Promise<FolderStates | undefined> {
  const read = await readFolderFile(folder, [statesName]);
  if (read.kind === "unread") return undefined;
  try {
    const { files } = JSON.parse(read.text) as { files: Record<string, unknown> };
    return new Map(Object.entries(files).flatMap(([path, state]) => (isState(state) ? [[path, state]] : [])));
  } catch {
    return undefined; // Whoever put two states of it together by hand, or by a merge, may have left no JSON.
  }
}

function isState(state: unknown): state is FileState {
  if (typeof state !== "object" || state === null || !("revision" in state) || !("sha256" in state)) return false;
  const { revision, sha256 } = state;
  const isRevision = Number.isInteger(revision) && Number(revision) > 0 && Number(revision) < 2 ** 31;
  return isRevision && /^[0-9a-f]{64}$/.test(String(sha256));
}

/** Whether the folder has these noted now, a line each, so that two who export to a repository seldom meet. */
export async function writeStates(folder: string, states: FolderStates): Promise<boolean> {
  const lines = [...states]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, { revision, sha256 }]) => `    ${JSON.stringify(path)}: ${JSON.stringify({ revision, sha256 })}`);
  const text = `{\n  "files": {\n${lines.join(",\n")}\n  }\n}\n`;
  return (await writeFolderFile(folder, [statesName], text)).kind === "written";
}
