import { findDisguise } from "../inspect.ts";
import type { ShellWord } from "./words.ts";

const oddSpace = /[\r\v\f\u0085\p{Z}]/u;

/** Whether a text is all of the characters that everybody can tell apart. */
export function isAscii(text: string): boolean {
  return /^[\t\n\r -~]*$/.test(text);
}

/**
 * Why a command cannot be read for what it is: an odd space or a letter outside of ASCII where the shell reads syntax, or a
 * character in disguise anywhere, also in the text that a here-document gives it. Other text in quotes may be in any
 * language.
 */
export function oddityOf(words: readonly ShellWord[], input: string | undefined): string | undefined {
  const bare = words.filter((word) => /[^\t\n -~]/.test(word.bare));
  if (bare.some((word) => oddSpace.test(word.bare.replaceAll(/[ \t\n]/g, "")))) return "odd_whitespace";
  if (bare.length > 0) return "non_ascii";
  for (const text of [...words.map((word) => word.text), input ?? ""]) {
    const disguise = findDisguise(text);
    if (disguise !== undefined) return disguise;
  }
  return undefined;
}
