import { type Analysis, analyze, readingsIn } from "@countersign/gate/shell/analyze.ts";
import { filesOf, type FoundCommand } from "@countersign/gate/shell/found.ts";
import { baseName, keyOf } from "@countersign/gate/shell/key.ts";
import { programOf } from "@countersign/gate/shell/programs.ts";
import type { ShellWord } from "@countersign/gate/shell/words.ts";

/** What a command that may run files says of them. */
export interface FileNames {
  /** Every part of it that may be a file's or a folder's name, each once. */
  readonly names: readonly string[];
  /** Words of which only the shell knows what they name, as written. */
  readonly unknown: readonly string[];
  /** Programs that the system itself provides: they change with its updates, and an agent cannot have written them. */
  readonly systemPrograms: ReadonlySet<string>;
  /** It wraps so much that there may be more. */
  readonly isCut: boolean;
}

/** Where a name may begin and end: in a word with blanks, in a setting or a list, in program text of whatever language. */
const cuts = [/["'`\n]+/, /[=@:,;\n]+/, /[\s"'`()[\]{}<>|&;,=@:\\]+/, /[^\p{L}\p{N}_./-]+/u];

const longestName = 4_096;

/**
 * The names in a command that may run one of them: which operand, option, setting, redirect or text of a program that is, is
 * not guessed. Undefined where every program in it is known to run nothing.
 */
export function fileNamesIn(command: string): FileNames | undefined {
  const analysis = analyze(command);
  const isHarmless = analysis?.found.items.every(
    (item) => item.kind === "file" || (item.kind === "command" && runsNoFile(item.command)),
  );
  if (isHarmless === true) return undefined;
  const readings = analysis === undefined ? [] : readingsIn(analysis);
  const words = [...readings.flat(), ...(analysis === undefined ? [] : redirectsIn(analysis))];
  return {
    // Once more without quotes: not all that is written stands in a word of a command, such as what a loop goes through.
    names: namesIn([command, command.replaceAll(/\\\n|["'\\]/g, ""), ...words.map(({ value }) => value)]),
    unknown: unknownIn(words, command),
    systemPrograms: new Set(readings.map(([program]) => program?.value ?? "").filter(isSystemPath)),
    isCut: analysis === undefined,
  };
}

/** What the gate knows by name to do only its own work; of git, with the subcommands that do. */
function runsNoFile(command: FoundCommand): boolean {
  const name = command.words[0]?.value ?? "";
  if (name === "cd") return true;
  const isKnown = programOf(baseName(name))?.kind === "plain" || name === "git";
  return isKnown && keyOf(command).unkeyable === undefined;
}

function isSystemPath(path: string): boolean {
  return /^\/(?:usr\/)?s?bin\/[^/]+$/.test(path);
}

function redirectsIn(analysis: Analysis): readonly ShellWord[] {
  const inner = [...analysis.inner.values()].flat().flatMap(redirectsIn);
  return [...filesOf(analysis.found).map(({ word }) => word), ...inner];
}

function namesIn(texts: readonly string[]): readonly string[] {
  const parts = new Set([...new Set(texts)].flatMap((text) => [text, ...cuts.flatMap((cut) => text.split(cut))]));
  const names = [...parts].flatMap((part) => [part, ...attachedTo(part)]);
  return [...new Set(names)].filter((name) => name !== "" && name.length <= longestName && !name.includes("\0"));
}

/** `-fprog.awk`, `-nfprog.sed`: a value that stands right behind the letters of options. */
function attachedTo(word: string): readonly string[] {
  const letters = /^-(\w{1,8})/.exec(word)?.[1] ?? "";
  return letters.split("").map((_, index) => word.slice(index + 2));
}

/** As they stand in the command: what a shell in it is given has lost its quotes. */
function unknownIn(words: readonly ShellWord[], command: string): readonly string[] {
  const texts = words.filter(({ unknown, text }) => unknown !== undefined && /[$`*?[{~<]/.test(text));
  return [...new Set(texts.map(({ text }) => text))].filter((text) => command.includes(text));
}
