import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { type Analysis, analyze, readingsIn } from "@countersign/gate/shell/analyze.ts";
import { filesOf } from "@countersign/gate/shell/found.ts";
import { baseName } from "@countersign/gate/shell/key.ts";
import { isInterpreter } from "@countersign/gate/shell/programs.ts";
import type { ShellWord } from "@countersign/gate/shell/words.ts";
import type { Precondition } from "@countersign/engine/tool.ts";

/** Interpreters whose first operand is data to them, and not what they run. */
const dataFirst = new Set(
  "sqlite3 psql mysql gdb ed ex vi vim nvim emacs bc dc sed awk gawk mawk nawk original-awk".split(" "),
);

/** Options after which an interpreter is given its program as text, so that no operand is a file of it. */
const textOptions = new Set("-c -e -E -p -m --eval --print --command".split(" "));

/** Options whose value is a file that an interpreter runs as well. */
const fileOptions = new Set("-f --file -r --require --import --init-file --rcfile --preload".split(" "));

/** More than any sensible command runs; what is beyond is not looked at. */
const mostScripts = 50;

/**
 * The scripts that a command names and something would run: operands of interpreters, through wrappers and shells in
 * shells, programs by their path, and what a shell reads from a redirect. Absolute paths, each once. A name that only the
 * shell can tell (an expansion, a glob) is none; without a folder to run in, nor is a relative one; nor is any in a command
 * that cannot be taken apart.
 */
export function scriptsOf(command: string, cwd: string | undefined): readonly string[] {
  const analysis = analyze(command);
  if (analysis === undefined) return [];
  const readings = readingsIn(analysis);
  const folders = foldersOf(readings, cwd);
  const named = [...readings.flatMap(scriptsOfWords), ...redirectedInto(analysis)];
  const paths = named.flatMap(({ value, unknown }) => {
    if (unknown !== undefined || value === "" || value === "-" || value.includes("\0")) return [];
    return value.startsWith("/") ? [resolve(value)] : folders.map((folder) => resolve(folder, value));
  });
  return [...new Set(paths)].slice(0, mostScripts);
}

/** The state of scripts as they are now: the sha256 of each, or why there is none. */
export async function readScripts(paths: readonly string[]): Promise<readonly Precondition[]> {
  return await Promise.all(paths.map(async (name) => ({ kind: "script" as const, name, hash: await hashOf(name) })));
}

function scriptsOfWords([program, ...args]: readonly ShellWord[]): readonly ShellWord[] {
  if (program === undefined || program.unknown !== undefined) return [];
  const name = baseName(program.value);
  const own = program.value.includes("/") && !isSystemPath(program.value) ? [program] : [];
  if (!isInterpreter(name)) return own;
  const isFile = (_word: ShellWord, index: number): boolean => fileOptions.has(args[index - 1]?.value ?? "");
  const files = args.filter(isFile);
  const first = args.findIndex((word, index) => !/^[-+]/.test(word.value) && !isFile(word, index));
  const isText = args.slice(0, Math.max(first, 0)).some(({ value }) => textOptions.has(value));
  const operand = first < 0 || isText || dataFirst.has(name) ? [] : args.slice(first, first + 1);
  return [...own, ...operand, ...files];
}

/** What the system itself provides changes with its updates, and is not what an agent could have written. */
function isSystemPath(path: string): boolean {
  return /^\/(?:usr\/)?s?bin\/[^/]+$/.test(path);
}

function redirectedInto(analysis: Analysis): readonly ShellWord[] {
  const own = filesOf(analysis.found)
    .filter(({ isWrite, command }) => !isWrite && isInterpreter(baseName(command?.words[0]?.value ?? "")))
    .map(({ word }) => word);
  return [...own, ...[...analysis.inner.values()].flat().flatMap(redirectedInto)];
}

/** Where a relative name may lead: the folder of the command, and every one that it changes to. */
function foldersOf(readings: readonly (readonly ShellWord[])[], cwd: string | undefined): readonly string[] {
  const changes = readings.flatMap(([program, ...args]) => {
    const to = args.find(({ value }) => !value.startsWith("-"));
    const isChange = program?.value === "cd" || program?.value === "pushd";
    return isChange && to !== undefined && to.unknown === undefined ? [to.value] : [];
  });
  const folders = cwd === undefined ? [] : [cwd];
  for (const change of changes) {
    if (change.startsWith("/")) folders.push(change);
    else if (cwd !== undefined) folders.push(resolve(cwd, change));
  }
  return folders;
}

async function hashOf(path: string): Promise<string> {
  try {
    if (!(await stat(path)).isFile()) return "no file";
    const hash = createHash("sha256");
    await pipeline(createReadStream(path), hash);
    return hash.digest("hex");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    return code === "ENOENT" || code === "ENOTDIR" ? "absent" : `unreadable: ${code}`;
  }
}
