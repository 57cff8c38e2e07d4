import { isHome, isInSystemFolder, isSystemPath, normalizePath } from "./paths.ts";
import { anyOf, type CommandPattern, hasOption, operandsOf, type ReadCommand } from "./pattern.ts";

const hereAndAbove = new Set(["*", ".", "..", "./*", "../*", ".*", "./", "../", "/*"]);

/** Programs that change every path they are given. */
const changers = new Set(["tee", "rm", "touch", "mkdir", "rmdir", "truncate", "unlink"]);
/** Programs that change the last path they are given. */
const movers = new Set(["cp", "mv", "install", "ln", "rsync"]);

/** Losing files. */
export const deleting: readonly CommandPattern[] = [
  {
    name: "rm-root",
    reason: "deletes the root or a folder of the system",
    fits: (command) =>
      isRecursiveRm(command) && (operandsOf(command).some(isSystemPath) || hasOption(command, "", "no-preserve-root")),
  },
  {
    name: "rm-home",
    reason: "deletes a home folder",
    fits: (command) => isRecursiveRm(command) && operandsOf(command).some(isHome),
  },
  {
    name: "rm-recursive-wildcard",
    reason: "deletes everything here or above",
    fits: (command) => isRecursiveRm(command) && operandsOf(command).some((path) => hereAndAbove.has(path)),
  },
  {
    name: "rm-recursive-force",
    reason: "deletes folders with all that is in them, without asking; a temporary folder of mktemp -d may go",
    fits: (command) => isRecursiveRm(command) && hasOption(command, "f", "force") && !isOnlyTempFolders(command),
  },
  {
    name: "find-delete-root",
    reason: "deletes what it finds in the whole system or home folder",
    fits: (command) =>
      command.name === "find" &&
      command.args.some((arg) => isSystemPath(arg) || isHome(arg)) &&
      (command.args.includes("-delete") ||
        command.args.some(
          (arg, at) =>
            /^-(?:exec|ok)(?:dir)?$/.test(arg) && /^(?:.*\/)?(?:rm|shred|unlink)$/.test(command.args[at + 1] ?? ""),
        )),
  },
  { name: "shred", reason: "destroys a file so that nothing can bring it back", fits: anyOf("shred", "srm", "wipe") },
  {
    name: "move-to-null",
    reason: "moves files into nothing",
    fits: (command) => command.name === "mv" && operandsOf(command).at(-1) === "/dev/null",
  },
  {
    name: "permissions-recursive-root",
    reason: "changes who may do what with the whole system or home folder",
    fits: (command) => command.name === "chmod" && isRecursiveOnRoot(command),
  },
  {
    name: "owner-recursive-root",
    reason: "changes the owner of the whole system or home folder",
    fits: (command) => ["chown", "chgrp"].includes(command.name) && isRecursiveOnRoot(command),
  },
  { name: "immutable-bit", reason: "changes attributes that keep files from being changed", fits: anyOf("chattr") },
  {
    name: "system-folder-write",
    reason: "changes what stands in a folder of the system",
    fits: (command) => writtenPaths(command).some(isInSystemFolder),
  },
];

function isRecursiveRm(command: ReadCommand): boolean {
  return command.name === "rm" && hasOption(command, "rR", "recursive");
}

/** Every operand is the value, and nothing but the value, of a variable that holds a temporary folder. */
function isOnlyTempFolders({ words, tempFolders }: ReadCommand): boolean {
  const end = words.findIndex(({ value }) => value === "--");
  const operands = words.filter(({ value }, at) => (end !== -1 && at > end) || !value.startsWith("-"));
  return operands.length > 0 && operands.every(({ variable }) => variable !== undefined && tempFolders.has(variable));
}

function isRecursiveOnRoot(command: ReadCommand): boolean {
  const paths = operandsOf(command).slice(1);
  return hasOption(command, "R", "recursive") && paths.some((path) => isSystemPath(path) || isHome(path));
}

/** The paths that a command of the usual kind writes. */
function writtenPaths(command: ReadCommand): readonly string[] {
  const operands = operandsOf(command);
  if (changers.has(command.name)) return operands;
  if (movers.has(command.name)) return operands.slice(-1);
  if (command.name === "sed" && hasOption(command, "i", "in-place")) return operands.slice(-1);
  if (command.name === "dd")
    return operands.filter((arg) => arg.startsWith("of=")).map((arg) => normalizePath(arg.slice(3)));
  return [];
}
