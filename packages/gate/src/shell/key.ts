import { isAscii, oddityOf } from "./characters.ts";
import { listOf, operandStarts } from "./options.ts";
import type { FoundCommand } from "./found.ts";
import { isInterpreter, isStateBuiltin, type Program, programOf, type UnsafeOptions } from "./programs.ts";
import { isHarmlessSedScript, sedScriptsOf } from "./sed-script.ts";
import type { ShellWord } from "./words.ts";
import { isWrapper, wrapperOf } from "./wrappers.ts";

/** What an entry that allows must be equal to, or why none can vouch for the command. Both: a program by its full path. */
export interface Key {
  readonly key?: string;
  readonly unkeyable?: string;
}

/** Words as one text from which the shell would read the same words. */
export function quoteWords(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./[\]-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`))
    .join(" ");
}

/** The name of a program without its folder. */
export function baseName(program: string): string {
  return program.slice(program.lastIndexOf("/") + 1);
}

/**
 * The key of a simple command: the program for those that are known to do only their own work, program and subcommand for
 * those known to have some, else all its words. Why there is none is said in one word, with a colon before what it is about.
 */
export function keyOf({ words, hasAssignment, input }: FoundCommand): Key {
  const [program, ...args] = words;
  if (hasAssignment || program === undefined) return { unkeyable: "assignment" };
  const odd = oddityOf(words, input);
  if (odd !== undefined) return { unkeyable: odd };
  if (program.unknown !== undefined) return { unkeyable: program.unknown };
  if (!isAscii(program.value)) return { unkeyable: "non_ascii" };

  const name = baseName(program.value);
  if (isInterpreter(name)) return { unkeyable: "interpreter" };
  if (isWrapper(name)) return { unkeyable: "wrapper" };
  if (isStateBuiltin(name)) return { unkeyable: "shell_state" };
  const hasFolder = name !== program.value;
  if (hasFolder && !program.value.startsWith("/")) return { unkeyable: "program_path" };
  const key = keyByTable(program, args, programOf(name), name);
  return hasFolder && key.key !== undefined ? { ...key, unkeyable: "program_path" } : key;
}

function keyByTable(program: ShellWord, args: readonly ShellWord[], known: Program | undefined, name: string): Key {
  if (known === undefined) {
    return runsCommand(name, args) ? { unkeyable: "wrapper" } : keyOfAllWords([program, ...args]);
  }
  const own = quoteWords([program.value]);
  if (known.kind === "plain") return troubleOfOptions(known, args) ?? troubleOfArguments(name, args) ?? { key: own };

  const [subcommand, ...rest] = args;
  if (subcommand === undefined) return { key: own };
  if (subcommand.unknown !== undefined) return { unkeyable: subcommand.unknown };
  if (subcommand.value.startsWith("-")) return { unkeyable: "global_option" };
  if (!/^[A-Za-z][\w:-]*$/.test(subcommand.value)) return { unkeyable: "subcommand" };
  if (listOf(known.neverKeyed ?? "").has(subcommand.value)) return { unkeyable: "runs_or_writes" };
  if (name === "git" && namesRemoteHelper(subcommand.value, rest)) return { unkeyable: "runs_or_writes" };
  const more = known.bySubcommand?.[subcommand.value];
  return (
    troubleOfOptions(known, rest) ??
    (more && troubleOfOptions(more, rest)) ?? { key: quoteWords([program.value, subcommand.value]) }
  );
}

/** Whether a subcommand exists to run another program: `docker exec`, `poetry run`. */
function runsCommand(name: string, args: readonly ShellWord[]): boolean {
  return operandStarts(args, 0, {}).some((at) => {
    const both = `${name} ${args[at]?.value ?? ""}`;
    return isWrapper(both) || (wrapperOf(both)?.isRepeat === true && runsCommand(name, args.slice(at + 1)));
  });
}

function keyOfAllWords(words: readonly ShellWord[]): Key {
  const unknown = words.find((word) => word.unknown !== undefined)?.unknown;
  if (unknown !== undefined) return { unkeyable: unknown };
  if (!words.every(({ value }) => isAscii(value))) return { unkeyable: "non_ascii" };
  return { key: quoteWords(words.map(({ value }) => value)) };
}

/** An option that runs or writes, or a word that may turn out to be one. */
function troubleOfOptions(
  unsafe: UnsafeOptions & { stopsAtOperand?: true },
  args: readonly ShellWord[],
): Key | undefined {
  const { short = "", long = "", single = "", stopsAtOperand } = unsafe;
  if (short === "" && long === "" && single === "") return undefined;
  for (const { value, start, unknown, mayBeOption } of args) {
    if (mayBeOption) return { unkeyable: "unknown_option" };
    if (stopsAtOperand && !value.startsWith("-")) return undefined;
    if (isUnsafeOption(value, unsafe)) return { unkeyable: `runs_or_writes:${value.split("=")[0] ?? ""}` };
    if (value.startsWith("-") && !isAscii(value)) return { unkeyable: "non_ascii" };
    // Only of its value may something be open: `--{output=f,stat}` is two options.
    if (value.startsWith("-") && unknown !== undefined && !start.includes("=")) return { unkeyable: unknown };
  }
  return undefined;
}

function isUnsafeOption(word: string, { short = "", long = "", single = "", countsNoDashes }: UnsafeOptions): boolean {
  if (!word.startsWith("-") || /^-+$/.test(word)) return false;
  const name = word.replace(/^-+/, "").split("=")[0] ?? "";
  if ([...listOf(single)].some((unsafe) => unsafe === name || isGroupOf(unsafe, name))) return true;
  if (word.startsWith("--") || (countsNoDashes && name.length > 2)) {
    if ([...listOf(long)].some((unsafe) => unsafe.startsWith(name) || isGroupOf(unsafe, name))) return true;
  }
  return !word.startsWith("--") && short.split("").some((letter) => word.includes(letter));
}

/** `test.` in a list is all of `test.cpuprofile`, `test.trace` …. */
function isGroupOf(unsafe: string, name: string): boolean {
  return unsafe.endsWith(".") && name.startsWith(unsafe);
}

/** What is unsafe by its arguments rather than its options. */
function troubleOfArguments(name: string, args: readonly ShellWord[]): Key | undefined {
  switch (name) {
    case "uniq": {
      const operands = args.filter(({ value, unknown }) => !value.startsWith("-") || unknown !== undefined);
      const isOneFile = operands.length <= 1 && operands.every(({ unknown }) => unknown === undefined);
      return isOneFile ? undefined : { unkeyable: "runs_or_writes" };
    }
    case "date":
      // Digits alone are the time that the clock is set to.
      return args.some(({ value, unknown }) => /^\d/.test(value) && (unknown !== undefined || /^[\d.]+$/.test(value)))
        ? { unkeyable: "runs_or_writes" }
        : undefined;
    case "printf":
      return troubleOfFormat(args.find(({ value }) => value !== "--"));
    case "sed": {
      if (args.some(({ unknown }) => unknown !== undefined && unknown !== "glob")) return { unkeyable: "expansion" };
      const scripts = sedScriptsOf(args.map(({ value }) => value));
      return scripts?.every(isHarmlessSedScript) ? undefined : { unkeyable: "runs_or_writes" };
    }
    default:
      return undefined;
  }
}

/** `%n` of bash's printf assigns to the variable that an argument names. */
function troubleOfFormat(format: ShellWord | undefined): Key | undefined {
  if (format?.unknown !== undefined) return { unkeyable: format.unknown };
  const conversions = format?.value.replaceAll("%%", "") ?? "";
  return /%[^%A-Za-z]*[hjlLtz]*n/.test(conversions) ? { unkeyable: "runs_or_writes" } : undefined;
}

const reachesRepositories = "archive clone fetch ls-remote pull push remote";

/** `ext::…` as a repository: git runs the program that the part before the colons names. */
function namesRemoteHelper(subcommand: string, args: readonly ShellWord[]): boolean {
  return listOf(reachesRepositories).has(subcommand) && args.some(({ value }) => /^[A-Za-z][\w+.-]*::/.test(value));
}
