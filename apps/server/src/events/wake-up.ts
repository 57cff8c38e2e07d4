/** Something to wait for that happens again and again; what happens while nobody waits is kept, once. */
export interface WakeUp {
  /** Lets the waiter go on, or the next one. */
  wake(): void;
  /** Resolves at the next `wake`, at once where there was one since the last wait. */
  sleep(): Promise<void>;
}

/** A wake-up that nobody has rung yet. One that comes while nobody sleeps ends the next sleep at once. */
export function createWakeUp(): WakeUp {
  let isWoken = false;
  let waiter: (() => void) | undefined;
  return {
    wake() {
      isWoken = true;
      waiter?.();
    },
    async sleep() {
      if (!isWoken) await new Promise<void>((done) => (waiter = done));
      waiter = undefined;
      isWoken = false;
    },
  };
}
