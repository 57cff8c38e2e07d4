import type { ShellWord } from "./words.ts";

/** Where in a pipeline a command stands. */
export interface PipeStage {
  readonly pipeline: number;
  readonly stage: number;
}

/** A simple command, wherever in the command line it was found. */
export interface FoundCommand {
  /** As written, with its redirects. */
  readonly text: string;
  /** Its name and arguments, without redirects and without assignments in front. */
  readonly words: readonly ShellWord[];
  readonly hasAssignment: boolean;
  /** Whether it stands by itself: in no loop, pipeline, function, substitution or group. */
  readonly isTopLevel: boolean;
  /** The command whose words or redirects it was found in, as a substitution. */
  readonly parent: FoundCommand | undefined;
  readonly stages: readonly PipeStage[];
  readonly blocks: Blocks;
  /** The text that a here-document or here-string gives it. */
  readonly input: string | undefined;
}

/** A file that a redirect opens. */
export interface FoundFile {
  readonly text: string;
  readonly word: ShellWord;
  readonly isWrite: boolean;
  readonly command: FoundCommand | undefined;
}

/** What keeps a command line from being vouched for, other than its commands and files. */
export interface Trouble {
  readonly text: string;
  readonly why: string;
}

/** The parts of a command line, from the outermost in, that may not run, or not in the same process, and that it is in. */
export type Blocks = readonly number[];

export interface FoundAssignment {
  readonly name: string;
  readonly blocks: Blocks;
  /** How many commands were found before it. */
  readonly position: number;
  /** It is the path of a temporary folder that it makes: `$(mktemp -d)`. */
  readonly isTempFolder: boolean;
}

/** Everything that a command line holds, in the order in which it is written. */
export interface Found {
  readonly items: (
    | { readonly kind: "command"; readonly command: FoundCommand }
    | { readonly kind: "file"; readonly file: FoundFile }
    | { readonly kind: "trouble"; readonly trouble: Trouble }
  )[];
  readonly assignments: FoundAssignment[];
  /** The names of the functions that it defines. */
  readonly functions: string[];
  /** Functions that start themselves twice or in the background, as written. */
  readonly bombs: string[];
  /** There is more, so large or so deep in substitutions that it was not looked at. */
  isTooMuch: boolean;
}

/** The commands among what was found, in their order. */
export function commandsOf(found: Found): readonly FoundCommand[] {
  return found.items.flatMap((item) => (item.kind === "command" ? [item.command] : []));
}

/** The files that redirects read or write, in their order. */
export function filesOf(found: Found): readonly FoundFile[] {
  return found.items.flatMap((item) => (item.kind === "file" ? [item.file] : []));
}
