/** How long is waited for a provider that cannot answer now. */
export interface RetryTimes {
  /** From the first attempt on: no wait that would go beyond begins. */
  readonly forMs: number;
  /** The first wait; each further one is twice as long. */
  readonly firstMs: number;
  /** The longest wait, also where the provider asks for a longer one. */
  readonly maxMs: number;
}

/**
 * How long to wait before the next attempt, or undefined where that would be later than `forMs` allows. At least as
 * long as the provider asked for, up to `maxMs`; spread by chance, so that runs that failed together do not come
 * back together.
 */
export function retryWaitMs(
  { forMs, firstMs, maxMs }: RetryTimes,
  attempt: number,
  retryAfterMs: number | undefined,
  elapsedMs: number,
  random: () => number = Math.random,
): number | undefined {
  const backoffMs = Math.min(firstMs * 2 ** (attempt - 1), maxMs) * (0.5 + random() / 2);
  const askedMs = Math.min(retryAfterMs ?? 0, maxMs) * (1 + random() / 10);
  const waitMs = Math.round(Math.max(backoffMs, askedMs));
  return elapsedMs + waitMs > forMs ? undefined : waitMs;
}
