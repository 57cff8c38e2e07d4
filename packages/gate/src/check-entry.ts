import { findDisguise } from "./inspect.ts";
import { problemOfPattern } from "./patterns.ts";
import type { RuleEntry } from "./rule.ts";
import { problemOfCommand } from "./command-entry.ts";

/** What is wrong with an entry, and under which of its keys. `isAllowing`: its rule allows what the entry matches. */
export function problemsOfEntry(
  entry: RuleEntry,
  isAllowing: boolean,
): readonly { readonly key: string; readonly problem: string }[] {
  const problem = problemOf(entry, isAllowing);
  return problem === undefined ? [] : [{ key: entry.kind === "argument" ? "name" : entry.kind, problem }];
}

function problemOf(entry: RuleEntry, isAllowing: boolean): string | undefined {
  switch (entry.kind) {
    case "argument":
      return isAllowing ? "an entry that allows must name what the call touches; an argument is not enough" : undefined;
    case "pattern":
      return problemOfPattern(entry.pattern) ?? problemOfText(entry.pattern);
    case "unit":
      return problemOfText(entry.unit);
    case "command":
      return problemOfText(entry.command) ?? problemOfCommand(entry.command, isAllowing);
  }
}

function problemOfText(text: string): string | undefined {
  if (/(?![\t\n])\p{Cc}/u.test(text)) return "it holds a control character";
  switch (findDisguise(text)) {
    case "hidden_character":
      return "it holds a character that people cannot see";
    case "confusable":
      return "it holds a character that people take for another";
    case undefined:
      return undefined;
  }
}
