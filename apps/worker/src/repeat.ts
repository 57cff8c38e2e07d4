import { setTimeout as delay } from "node:timers/promises";

/** Something that is done again and again. */
export interface Repeated {
  /** Afterwards what was under way is done, and nothing begins any more. */
  stop(): Promise<void>;
}

/**
 * Does `body` now, and again `everyMs` after it came to its end, or at once where it answers `again`. What it throws goes
 * to `onError` and ends nothing. One is under way at a time.
 */
export function repeat(
  everyMs: number,
  body: () => Promise<"again" | "later">,
  onError: (error: unknown) => void,
): Repeated {
  const stopping = new AbortController();
  const { signal } = stopping;

  async function run(): Promise<void> {
    while (!signal.aborted) {
      let next: "again" | "later" = "later";
      try {
        next = await body();
      } catch (error) {
        onError(error);
      }
      if (next === "later") await delay(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
