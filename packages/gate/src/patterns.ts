import { RE2JS } from "re2js";

/** The longest pattern, in UTF-16 units, and the most that the repeat counts of one may add up to. */
const longestPattern = 500;
const mostRepeats = 1_000;

const repeatCount = /\{(\d+)(?:,(\d*))?\}/g;
const mostCompiled = 1_000;

type Compiled =
  | { readonly kind: "pattern"; readonly regex: RE2JS }
  | { readonly kind: "problem"; readonly problem: string };

const compiled = new Map<string, Compiled>();

/** What is wrong with a pattern in RE2 syntax, in words for whoever wrote it; undefined where nothing is. */
export function problemOfPattern(pattern: string): string | undefined {
  const found = compile(pattern);
  return found.kind === "problem" ? found.problem : undefined;
}

/**
 * Whether a pattern matches the whole of a text, in time linear in the text. Undefined where there is something wrong
 * with the pattern.
 */
export function matchesWhole(pattern: string, text: string): boolean | undefined {
  const found = compile(pattern);
  return found.kind === "pattern" ? found.regex.testExact(text) : undefined;
}

/**
 * Whether a pattern that denies or asks reaches a text: as `matchesWhole`, or with `.` taken for line ends too, so that a
 * text of several lines is no way around it. False where there is something wrong with the pattern.
 */
export function reachesWhole(pattern: string, text: string): boolean {
  if (matchesWhole(pattern, text) === true) return true;
  if (!text.includes("\n")) return false;
  const found = compile(pattern, RE2JS.DOTALL);
  return found.kind === "pattern" && found.regex.testExact(text);
}

function compile(pattern: string, flags = 0): Compiled {
  const name = `${flags} ${pattern}`;
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const made = compileNew(pattern, flags);
  if (compiled.size >= mostCompiled) compiled.clear();
  compiled.set(name, made);
  return made;
}

function compileNew(pattern: string, flags: number): Compiled {
  if (pattern === "") return refuse("it is empty");
  if (pattern.length > longestPattern) {
    return refuse(`it is ${pattern.length} characters long; at most ${longestPattern} are accepted`);
  }
  const repeats = [...pattern.matchAll(repeatCount)].reduce(
    (sum, [, least, most]) => sum + Math.max(Number(least), Number(most ?? 0)),
    0,
  );
  if (repeats > mostRepeats) {
    return refuse(`its repeat counts add up to ${repeats}; at most ${mostRepeats} are accepted`);
  }
  try {
    return { kind: "pattern", regex: RE2JS.compile(pattern, flags) };
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function refuse(problem: string): Compiled {
  return { kind: "problem", problem };
}
