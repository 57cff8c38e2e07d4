import { useSyncExternalStore } from "react";
import { listenToClock, serverNow } from "../server-clock.ts";

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

/** A moment as a person says it, and exactly, in the reader's own zone, where one points at it. */
export function Time({ at }: { readonly at: string }) {
  const now = useNow();
  const moment = new Date(at);
  return (
    <time dateTime={at} title={absolute.format(moment)}>
      {relativeTo(moment.getTime() - now)}
    </time>
  );
}

function relativeTo(ms: number): string {
  for (const [unit, size] of units) if (Math.abs(ms) >= size) return relative.format(Math.trunc(ms / size), unit);
  return Math.abs(ms) < 10_000 ? "just now" : relative.format(Math.trunc(ms / 1_000), "second");
}

/** How far off a moment is that was typed into a field, in the reader's own zone; nothing while it is none. */
export function sayWhen(typed: string): string {
  const at = new Date(typed).getTime();
  return Number.isNaN(at) ? "" : relativeTo(at - serverNow());
}

/** The server's time, read again every few seconds for as long as it is shown; all who look every so often share one clock. */
export function useNow(everyMs = 5_000): number {
  const clock = clockOf(everyMs);
  return useSyncExternalStore(clock.watch, clock.now);
}

interface Clock {
  readonly now: () => number;
  readonly watch: (onTick: () => void) => () => void;
}

const clocks = new Map<number, Clock>();

/** Goes while somebody watches; a page of a thousand times has one timer. */
function clockOf(everyMs: number): Clock {
  const found = clocks.get(everyMs);
  if (found !== undefined) return found;
  const watchers = new Set<() => void>();
  let at = serverNow();
  let timer: ReturnType<typeof setInterval> | undefined;
  const tick = (): void => {
    at = serverNow();
    for (const tell of watchers) tell();
  };
  listenToClock(tick);
  const clock: Clock = {
    now() {
      // Nobody watched it meanwhile; asked twice in a row it says the same.
      if (timer === undefined && serverNow() - at >= everyMs) at = serverNow();
      return at;
    },
    watch(onTick) {
      watchers.add(onTick);
      timer ??= setInterval(tick, everyMs);
      return () => {
        watchers.delete(onTick);
        if (watchers.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
  clocks.set(everyMs, clock);
  return clock;
}
