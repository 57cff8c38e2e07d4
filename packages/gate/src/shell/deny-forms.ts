import { baseName } from "./key.ts";
import { operandStarts } from "./options.ts";
import { programOf } from "./programs.ts";
import type { ShellWord } from "./words.ts";

/** No more words of a command are kept to hold against entries. */
const mostEntryWords = 64;

/**
 * Every way in which a deny entry may know a command: with the folder of its program and without, and without the options
 * that stand before its subcommand.
 */
export function denyForms(readings: readonly (readonly ShellWord[])[]): readonly (readonly string[])[] {
  const forms = new Map<string, readonly string[]>();
  for (const words of readings) {
    const [program] = words;
    if (program === undefined) continue;
    const name = baseName(program.value);
    const known = programOf(name);
    const spec = { value: known?.globalValues ?? "", alone: known?.globalAlone ?? "" };
    const rests = [1, ...operandStarts(words, 1, spec)].map((start) =>
      words.slice(start, start + mostEntryWords).map(({ value }) => value),
    );
    for (const rest of rests) {
      for (const first of [program.value, name]) {
        const form = [first, ...rest];
        forms.set(JSON.stringify(form), form);
      }
    }
  }
  return [...forms.values()];
}
