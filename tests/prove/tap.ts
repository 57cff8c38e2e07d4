/**
 * A point at which a process is struck: just before or just after its n-th message of a name. Counted by name, since what a
 * process does at the same time reaches the wire in one order or another.
 */
export interface Point {
  readonly label: string;
  readonly n: number;
  readonly when: "before" | "after";
}

/** Counts what passes, and strikes once. */
export interface Tap {
  /** Counts from now on, and strikes at `point` where one is given. */
  watch(point?: Point, strike?: () => void): void;
  /** The names of what has passed since. */
  seen(): readonly string[];
}

export interface OpenTap extends Tap {
  /** A message is about to pass; what it gives has to be called instead of passing it, or once it is answered. */
  pass(label: string): { strikeBefore: (() => void) | undefined; strikeAfter: (() => void) | undefined };
}

export function createTap(): OpenTap {
  let labels: string[] = [];
  let armed: { point: Point; left: number; strike: () => void } | undefined;

  return {
    watch(point, strike = () => undefined) {
      labels = [];
      armed = point === undefined ? undefined : { point, left: point.n, strike };
    },
    seen: () => labels,
    pass(label) {
      labels.push(label);
      const nothing = { strikeBefore: undefined, strikeAfter: undefined };
      if (armed?.point.label !== label) return nothing;
      armed.left -= 1;
      if (armed.left > 0) return nothing;
      const { point, strike } = armed;
      armed = undefined;
      return point.when === "before" ? { ...nothing, strikeBefore: strike } : { ...nothing, strikeAfter: strike };
    },
  };
}
