/** What a proof found. */
export interface Report {
  /** What was tried, by name. */
  readonly counts: Readonly<Record<string, number | string>>;
  /** Each a sentence on what broke where; none where everything held. */
  readonly violations: readonly string[];
}

/** So many of the items, evenly spread, the first and the last among them. */
export function spread<T>(items: readonly T[], count: number): T[] {
  if (count >= items.length) return [...items];
  const step = (items.length - 1) / Math.max(count - 1, 1);
  return Array.from({ length: count }, (_, index) => items[Math.round(index * step)]).flatMap((item) =>
    item === undefined ? [] : [item],
  );
}
