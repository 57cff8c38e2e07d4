const units = [
  { name: "d", ms: 86_400_000 },
  { name: "h", ms: 3_600_000 },
  { name: "min", ms: 60_000 },
  { name: "s", ms: 1_000 },
] as const;

/** How long a span is, in its largest unit: `40 s`, `3 min`, `2 h`, `5 d`. */
export function spanOf(ms: number): string {
  const unit = units.find((candidate) => ms >= candidate.ms) ?? units[3];
  return `${Math.max(0, Math.floor(ms / unit.ms))} ${unit.name}`;
}

/** When something was or will be, seen from `now`. */
export function relativeTime(at: string | Date, now: number = Date.now()): string {
  const ms = now - new Date(at).getTime();
  if (Math.abs(ms) < 1_000) return "just now";
  return ms > 0 ? `${spanOf(ms)} ago` : `in ${spanOf(-ms)}`;
}

/** The moment itself, in UTC to the second. */
export function absoluteTime(at: string | Date): string {
  return `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
