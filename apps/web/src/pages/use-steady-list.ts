import { useState } from "react";
import type { Task } from "../api.ts";

export interface SteadyList {
  /** What is shown, in the order in which it came. */
  readonly shown: readonly Task[];
  /** What came after the page was opened. */
  readonly arrived: readonly Task[];
  /** How many of them do not wait any more. */
  readonly settledCount: number;
  /** Takes away what does not wait any more. */
  readonly clear: () => void;
}

interface Kept {
  readonly name: string;
  readonly tasks: readonly Task[];
  readonly known: ReadonlySet<string>;
  readonly partCount: number;
}

/**
 * A list that only grows at its end while one looks at it: what leaves `open` stays in its place as it last was, what
 * comes is added after everything else. Another `name` is another list; what comes with a further part, of `partCount`, was
 * there before.
 */
export function useSteadyList(open: readonly Task[] | undefined, name: string, partCount: number): SteadyList {
  const [kept, setKept] = useState<Kept>();
  const clear = (): void => setKept(undefined);
  if (open === undefined) return { shown: [], arrived: [], settledCount: 0, clear };

  const isOther = kept === undefined || kept.name !== name;
  const before = isOther ? [] : kept.tasks;
  const now = new Map(open.map((task) => [task.id, task]));
  const stood = new Set(before.map((task) => task.id));
  const added = open.filter((task) => !stood.has(task.id));
  const shown = [...before.map((task) => now.get(task.id) ?? task), ...added];
  const known = isOther
    ? new Set(now.keys())
    : partCount > kept.partCount
      ? new Set([...kept.known, ...now.keys()])
      : kept.known;
  const hasChanged = isOther || partCount !== kept.partCount || shown.some((task, n) => task !== before[n]);
  if (hasChanged) setKept({ name, tasks: shown, known, partCount });

  return {
    shown,
    arrived: shown.filter((task) => !known.has(task.id)),
    settledCount: shown.filter((task) => !now.has(task.id)).length,
    clear,
  };
}
