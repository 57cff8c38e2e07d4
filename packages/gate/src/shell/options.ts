import type { ShellWord } from "./words.ts";

/** Options of a program, as words between spaces: letters for `-x`, longer names for `--name`. */
export interface OptionSpec {
  /** Those whose value is the next word. */
  readonly value?: string;
  /** Those that stand alone. Of an option in neither list nobody knows whether a value follows. */
  readonly alone?: string;
  /** `+x` is an option too, as shells have it. */
  readonly takesPlus?: true;
}

const lists = new Map<string, ReadonlySet<string>>();

/** The words of a list, taken apart once. */
export function listOf(words: string): ReadonlySet<string> {
  let list = lists.get(words);
  if (list === undefined) {
    list = new Set(words.split(" ").filter((word) => word !== ""));
    lists.set(words, list);
  }
  return list;
}

/** More places than this are not looked at; each option of unknown kind doubles them. */
const mostStarts = 8;

/**
 * Where the operands of a command may begin, options from `from` on being skipped: at more than one place where it is not
 * known whether an option takes the next word, or whether a word is an option.
 */
export function operandStarts(words: readonly ShellWord[], from: number, spec: OptionSpec): readonly number[] {
  const starts = new Set<number>();
  const open = [from];
  const seen = new Set(open);
  for (let at = open.shift(); at !== undefined && starts.size < mostStarts; at = open.shift()) {
    const word = words[at];
    if (word === undefined) continue;
    const isOption = word.value.startsWith("-") || (spec.takesPlus === true && word.value.startsWith("+"));
    if (word.value === "--") starts.add(at + 1);
    else if (!isOption) starts.add(at);
    const widths = isOption ? widthsOf(word.value, spec) : word.mayBeOption ? [1] : [];
    for (const width of word.value === "--" ? [] : widths) {
      if (!seen.has(at + width)) open.push(at + width);
      seen.add(at + width);
    }
  }
  return [...starts].toSorted((a, b) => a - b);
}

/** How many words an option may take up. */
function widthsOf(word: string, { value = "", alone = "" }: OptionSpec): readonly number[] {
  const withValue = listOf(value);
  const withNone = listOf(alone);
  if (word.startsWith("--")) {
    const name = word.slice(2);
    if (name.includes("=")) return [1];
    if (withValue.has(name)) return [2];
    return withNone.has(name) ? [1] : [1, 2];
  }
  if (withValue.has(word.slice(1)) || withNone.has(word.slice(1))) return withValue.has(word.slice(1)) ? [2] : [1];
  const letters = word.slice(1);
  for (let index = 0; index < letters.length; index += 1) {
    const letter = letters.charAt(index);
    if (withValue.has(letter)) return index === letters.length - 1 ? [2] : [1];
    if (!withNone.has(letter)) return [1, 2];
  }
  return [1];
}
