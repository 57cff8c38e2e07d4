/** A point at which a process is struck: just before or just after its n-th message. */
export interface Point {
  readonly n: number;
  readonly when: "before" | "after";
}

/** Counts what passes, and strikes once. */
export interface Tap {
  /** Counts from now on, and strikes at `point` where one is given. Resolves with what passes there when it is reached. */
  watch(point?: Point, strike?: () => void): Promise<string>;
  /** What has passed since. */
  seen(): readonly string[];
}

export interface OpenTap extends Tap {
  /** A message is about to pass; what it gives has to be called instead of passing it, or once it is answered. */
  pass(label: string): { strikeBefore: (() => void) | undefined; strikeAfter: (() => void) | undefined };
}

export function createTap(): OpenTap {
  let labels: string[] = [];
  let armed: { point: Point; strike: () => void; reached: (label: string) => void } | undefined;

  return {
    watch(point, strike = () => undefined) {
      labels = [];
      armed = undefined;
      return new Promise((reached) => {
        if (point !== undefined) armed = { point, strike, reached };
      });
    },
    seen: () => labels,
    pass(label) {
      labels.push(label);
      const here = armed?.point.n === labels.length ? armed : undefined;
      if (here === undefined) return { strikeBefore: undefined, strikeAfter: undefined };
      armed = undefined;
      const strike = (): void => {
        here.strike();
        here.reached(label);
      };
      return here.point.when === "before"
        ? { strikeBefore: strike, strikeAfter: undefined }
        : { strikeBefore: undefined, strikeAfter: strike };
    },
  };
}
