/** Something on the denylist that a unit does. `name` is what policy may soften, `reason` is for people and the model. */
export interface Denylisted {
  readonly name: string;
  readonly reason: string;
}

/**
 * What exactly a call touches: one command of a shell line, a host, a path, an address. A plain text stands for a unit
 * whose key is that text. Every unit must be covered by an entry for a rule to allow the call; a tool that declares
 * `units` and gives none is never covered, so a command line that runs nothing gives a unit with `unkeyable`.
 */
export interface Unit {
  /** As the model wrote it: text that was cleaned up first hides the characters that the gate looks for. */
  readonly text: string;
  /** What an entry that allows must be equal to, whole: `git status`. Absent: the text. */
  readonly key?: string;
  /**
   * Why no entry can vouch for it (`interpreter`, `expansion` …): it asks under every dial. Together with `key`, unless an
   * entry that allows names that very key (a program by its path).
   */
  readonly unkeyable?: string;
  /**
   * Of a command: every way in which deny entries may know it, each as words after quote removal. The command itself and
   * what it wraps, a program with and without its folder, with and without the options before its subcommand.
   */
  readonly commands?: readonly (readonly string[])[];
  /** A file that a redirect writes. */
  readonly isWrite?: true;
  readonly denylisted?: readonly Denylisted[];
}

/** Arguments that cannot be taken apart within bounds: invalid, with the problem in words for the model. */
export interface UnitsRefused {
  readonly kind: "refused";
  readonly problem: string;
}

/** What a tool's `units` may answer. */
export type Units = readonly (string | Unit)[] | UnitsRefused;
