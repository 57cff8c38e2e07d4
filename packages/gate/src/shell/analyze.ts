import { collect } from "./collect.ts";
import { commandsOf, type Found, type FoundCommand } from "./found.ts";
import { unwrap } from "./unwrap.ts";
import type { ShellWord } from "./words.ts";

/** A command line taken apart, with what its commands run in turn. */
export interface Analysis {
  readonly found: Found;
  /** Of each command: the words of itself and of everything that it wraps. */
  readonly readings: ReadonlyMap<FoundCommand, readonly (readonly ShellWord[])[]>;
  /** Of each command: the texts that it hands to a shell, taken apart in turn. */
  readonly inner: ReadonlyMap<FoundCommand, readonly Analysis[]>;
}

/** Shell texts in shell texts are shorter each time; what is deeper than this is not looked into. */
const mostLevels = 6;
/** More commands than these, those in shell texts included, are not looked at at all; nor more wrapped ones. */
const mostCommands = 64;
const mostReadings = 160;
/** Of all texts together, those that commands hand to a shell included: each is parsed anew. */
const mostCharacters = 40_000;

/**
 * Takes a command line apart, through wrappers and the texts they hand to a shell. Never throws. Undefined where there are
 * more than 64 commands in it, or where they wrap so much that nobody could say what runs.
 */
export function analyze(text: string): Analysis | undefined {
  const budget = { commands: mostCommands, readings: mostReadings, characters: mostCharacters };
  const analysis = analyzeText(text, mostLevels, budget);
  return isSpent(budget) ? undefined : analysis;
}

interface Budget {
  commands: number;
  readings: number;
  characters: number;
}

function isSpent({ commands, readings, characters }: Budget): boolean {
  return commands < 0 || readings < 0 || characters < 0;
}

function analyzeText(text: string, levels: number, budget: Budget): Analysis {
  budget.characters -= text.length;
  const found = collect(text);
  const readings = new Map<FoundCommand, readonly (readonly ShellWord[])[]>();
  const inner = new Map<FoundCommand, readonly Analysis[]>();
  const commands = commandsOf(found);
  budget.commands -= found.isTooMuch ? Infinity : commands.length;
  for (const command of commands) {
    if (isSpent(budget)) break;
    const { readings: own, texts, isTooMuch = false } = unwrap(command.words, command.input, budget.readings);
    budget.readings -= isTooMuch ? Infinity : own.length;
    readings.set(command, own);
    const further = levels === 0 ? [] : texts.filter((one) => one.trim() !== "");
    inner.set(
      command,
      // Once too much was found the rest is not even parsed.
      further.flatMap((one) => (isSpent(budget) ? [] : analyzeText(one, levels - 1, budget))),
    );
  }
  return { found, readings, inner };
}

/** Of a command: the words of everything that it runs, as deep as was looked. */
export function readingsOf(analysis: Analysis, command: FoundCommand): readonly (readonly ShellWord[])[] {
  const inner = (analysis.inner.get(command) ?? []).flatMap(readingsIn);
  return [...(analysis.readings.get(command) ?? []), ...inner];
}

/** The words of everything that a command line runs. */
export function readingsIn(analysis: Analysis): readonly (readonly ShellWord[])[] {
  return commandsOf(analysis.found).flatMap((command) => readingsOf(analysis, command));
}
