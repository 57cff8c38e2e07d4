import { useState } from "react";
import { serverNow } from "../server-clock.ts";
import type { Task } from "../api.ts";

interface Kept {
  /** By the server's clock. */
  readonly openedAt: number;
  readonly known: ReadonlySet<string>;
  readonly arrived: readonly Task[];
  readonly partCount: number;
}

/**
 * The cards that came since the page was opened, oldest first: those of the list, and those that the page was `told` of and
 * that lie beyond what is read of it. What is read with a further part, of `partCount`, was there before; so was, of a list
 * that is not read whole, what moves up in it as others are settled.
 */
export function useArrivals(
  open: readonly Task[] | undefined,
  told: readonly Task[],
  { partCount, isWhole }: { readonly partCount: number; readonly isWhole: boolean },
): readonly Task[] {
  const [kept, setKept] = useState<Kept>();
  if (open === undefined) return kept?.arrived ?? [];

  const { openedAt = serverNow(), known = new Set<string>(), arrived = [] } = kept ?? {};
  const unknown = [...new Map([...told, ...open].map((task) => [task.id, task])).values()].filter(
    (task) => !known.has(task.id),
  );
  if (kept !== undefined && unknown.length === 0 && partCount === kept.partCount) return arrived;

  const wasThere = kept === undefined || partCount > kept.partCount;
  const isNew = (task: Task): boolean => !wasThere && (isWhole || new Date(task.createdAt).getTime() > openedAt);
  const next = [...arrived, ...unknown.filter(isNew)];
  setKept({ openedAt, known: new Set([...known, ...unknown.map((task) => task.id)]), arrived: next, partCount });
  return next;
}
