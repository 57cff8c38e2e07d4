import { useEffect, useState } from "react";

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

/** The time, read again every few seconds for as long as it is shown. */
export function useNow(everyMs = 5_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
