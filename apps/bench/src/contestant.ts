/** One way to set a contestant up: what its own documentation lets one choose. */
export type Setting = Readonly<Record<string, number>>;

/** A run that waits durably for its decision. `decide` resolves once the decision stands, from another connection than the worker's. */
export interface Waiting {
  readonly id: string;
  decide(): Promise<unknown>;
}

/** A contestant at work: it takes gated runs until closed. */
export interface Opened {
  /** Starts one run and resolves with its id once the start is durable. */
  start(): Promise<string>;
  /** Which of the undecided runs wait by now, and which of the decided ones have ended, as the database tells. */
  observe(
    undecided: readonly string[],
    decided: readonly string[],
  ): Promise<{ readonly waiting: readonly Waiting[]; readonly ended: readonly string[] }>;
  /** Afterwards it has no connection, no timer and no process. */
  close(): Promise<void>;
}

/**
 * A system that can do a gated run: start, a model turn that does nothing, a durable wait for a person, the decision, an
 * effect that does nothing, a second turn, the end.
 */
export interface Contestant {
  readonly name: string;
  /** The settings to choose from for so many runs at a time. */
  settings(atATime: number): readonly [Setting, ...Setting[]];
  /** Afterwards the empty database at `url` has what it needs. */
  prepare(url: string): Promise<void>;
  /** `onEffect` is called within the effect of the run of that id. */
  open(url: string, setting: Setting, onEffect: (id: string) => void): Promise<Opened>;
}
