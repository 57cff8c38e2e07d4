import { type Analysis, readingsOf } from "../shell/analyze.ts";
import { commandsOf, filesOf, type FoundCommand } from "../shell/found.ts";
import type { ShellWord } from "../shell/words.ts";
import { readsCode, runsFile, runsText, savedFiles, whatIsIt } from "./code.ts";
import { readCommand, type ReadCommand } from "./pattern.ts";

/** What no single command does, but several together. */
export const flowPatterns = {
  "fetch-to-shell": "runs what it fetches in a shell, unseen",
  "fetch-to-interpreter": "runs what it fetches in an interpreter, unseen",
  "shell-of-fetch": "hands what it fetches to a shell or an interpreter as its program",
  "eval-of-fetch": "evaluates what it fetches in this very shell",
  "fetch-then-run": "fetches a file and runs it, unseen",
  "decode-to-shell": "runs what it decodes, unseen",
  "fork-bomb": "starts itself over and over until nothing else can run",
} as const;

export interface Flow {
  readonly name: keyof typeof flowPatterns;
  /** The command that it is found at, or the text of a function. */
  readonly at: FoundCommand | string;
}

/** Finds code that is fetched or decoded and run, and functions that multiply. */
export function findFlows(analysis: Analysis): readonly Flow[] {
  const commands = commandsOf(analysis.found);
  const read = new Map(commands.map((command) => [command, readAll(analysis, command)]));
  const sources = commands.filter((command) => read.get(command)?.some((one) => whatIsIt(one) !== undefined));
  const flows: Flow[] = analysis.found.bombs.map((at) => ({ name: "fork-bomb", at }));
  for (const source of sources) {
    const kinds = (read.get(source) ?? []).map(whatIsIt);
    const isFetch = kinds.includes("fetch");
    for (const target of commands) {
      const kind = (read.get(target) ?? []).map(readsCode).find((one) => one !== undefined);
      if (kind === undefined || !feeds(source, target)) continue;
      const name = isFetch ? (`fetch-to-${kind}` as const) : "decode-to-shell";
      flows.push({ name, at: target });
    }
    for (let outer = source.parent; outer !== undefined; outer = outer.parent) {
      const runs = (read.get(outer) ?? []).map(runsText).find((one) => one !== undefined);
      if (runs === undefined) continue;
      const name = isFetch ? (`${runs}-of-fetch` as const) : "decode-to-shell";
      flows.push({ name, at: outer });
    }
  }
  return [...flows, ...fetchedThenRun(analysis, commands, read)];
}

function readAll(analysis: Analysis, command: FoundCommand): readonly ReadCommand[] {
  const none: ReadonlySet<string> = new Set();
  return readingsOf(analysis, command).map((words: readonly ShellWord[]) => readCommand(words, none));
}

/** What the one prints is what the other reads: it stands earlier in a pipeline, by itself or in a substitution. */
function feeds(source: FoundCommand, target: FoundCommand): boolean {
  for (let from: FoundCommand | undefined = source; from !== undefined; from = from.parent) {
    const isEarlier = from.stages.some(({ pipeline, stage }) =>
      target.stages.some((other) => other.pipeline === pipeline && stage < other.stage),
    );
    if (isEarlier) return true;
  }
  return false;
}

function fetchedThenRun(
  analysis: Analysis,
  commands: readonly FoundCommand[],
  read: ReadonlyMap<FoundCommand, readonly ReadCommand[]>,
): readonly Flow[] {
  const saved = new Set<string>();
  return commands.flatMap((command): Flow[] => {
    const all = read.get(command) ?? [];
    const isRun = all.some((one) => runsFile(one, command.words[0]?.value ?? "", saved));
    const fetches = all.filter((one) => whatIsIt(one) === "fetch");
    for (const file of fetches.flatMap(savedFiles)) saved.add(file);
    if (fetches.length > 0) {
      for (const file of filesOf(analysis.found))
        if (file.command === command && file.isWrite) saved.add(plainFile(file.word.value));
    }
    return isRun ? [{ name: "fetch-then-run", at: command }] : [];
  });
}

function plainFile(path: string): string {
  return path.replace(/^\.\//, "");
}
