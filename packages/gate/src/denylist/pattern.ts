import { baseName } from "../shell/key.ts";
import type { ShellWord } from "../shell/words.ts";
import { pathsIn } from "./paths.ts";

/** A command as the denylist reads it: one that stands there, or one that it wraps. */
export interface ReadCommand {
  /** The program without its folder. */
  readonly name: string;
  readonly args: readonly string[];
  readonly words: readonly ShellWord[];
  /** What among the arguments may be a path from the root or a home folder, or of keys, as `pathsIn` has it. */
  readonly paths: readonly string[];
  /** Variables that hold a temporary folder which this very command line made. */
  readonly tempFolders: ReadonlySet<string>;
}

/** Something that a command does, by its own words. `name` is what policy may soften. */
export interface CommandPattern {
  readonly name: string;
  /** For people and the model: what would happen. */
  readonly reason: string;
  readonly fits: (command: ReadCommand) => boolean;
}

/** A file that a redirect must not write, or not even read. */
export interface FilePattern {
  readonly name: string;
  readonly reason: string;
  readonly fits: (path: string, isWrite: boolean) => boolean;
}

/** A command as the patterns of the denylist look at it: its program, its arguments, and the paths in them. */
export function readCommand(words: readonly ShellWord[], tempFolders: ReadonlySet<string>): ReadCommand {
  const [program, ...rest] = words;
  const args = rest.map(({ value }) => value);
  const paths = args.filter((arg) => arg.includes("/") || arg.includes("~")).flatMap(pathsIn);
  return { name: baseName(program?.value ?? ""), args, words: rest, paths, tempFolders };
}

/** Fits every command of these programs. */
export function anyOf(...names: readonly string[]): CommandPattern["fits"] {
  return ({ name }) => names.includes(name);
}

/** Whether an option stands among the arguments: a letter in any group, or a name or the beginning of one. */
export function hasOption({ args }: ReadCommand, letters: string, ...names: readonly string[]): boolean {
  return args.some((arg) => {
    if (arg.startsWith("--")) {
      const name = arg.slice(2).split("=")[0] ?? "";
      return name !== "" && names.some((one) => one.startsWith(name));
    }
    return /^-[A-Za-z]/.test(arg) && letters.split("").some((letter) => arg.includes(letter));
  });
}

/** The arguments that are no options, and all that follows `--`. */
export function operandsOf(command: ReadCommand): readonly string[] {
  const end = command.args.indexOf("--");
  const before = end === -1 ? command.args : command.args.slice(0, end);
  return [
    ...before.filter((arg) => !arg.startsWith("-") || arg === "-"),
    ...(end === -1 ? [] : command.args.slice(end + 1)),
  ];
}
