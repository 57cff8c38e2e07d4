export interface Singly {
  /** Runs the body now, or once more after the run under way; never rejects, never waits. */
  readonly ask: () => void;
  /** Resolves when what is under way, and what was asked for meanwhile, is done. */
  readonly settled: () => Promise<void>;
}

/** Runs `body` one at a time: what is asked for meanwhile is one more run after it, however often it is asked. */
export function singly(body: () => Promise<void>, onError: (error: unknown) => void): Singly {
  let isWanted = false;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (isWanted) {
      isWanted = false;
      try {
        await body();
      } catch (error) {
        onError(error);
      }
    }
    running = undefined;
  }

  return {
    ask() {
      isWanted = true;
      running ??= run();
    },
    settled: async () => await running,
  };
}
