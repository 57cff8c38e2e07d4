import { createMiddleware } from "hono/factory";
import type { AppEnv } from "./context.ts";
import { Problem } from "./problem.ts";

/** How much one account may ask: so many requests a second for long, and a burst at once. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

/** With more buckets than this, those that are full again are forgotten. */
const mostBuckets = 10_000;

/**
 * A token bucket for each key, in memory: `take` returns 0 where the key may go on, else after how many milliseconds it
 * may. `now` is in milliseconds and never goes back.
 */
export function createBuckets({ perSecond, burst }: RateLimit, now: () => number = () => performance.now()) {
  const buckets = new Map<string, { left: number; at: number }>();

  function forgetFull(at: number): void {
    for (const [key, bucket] of buckets) {
      if (bucket.left + ((at - bucket.at) / 1000) * perSecond >= burst) buckets.delete(key);
    }
  }

  return {
    take(key: string): number {
      const at = now();
      const bucket = buckets.get(key) ?? { left: burst, at };
      const left = Math.min(burst, bucket.left + ((at - bucket.at) / 1000) * perSecond);
      if (!buckets.has(key) && buckets.size >= mostBuckets) forgetFull(at);
      buckets.set(key, { left: left < 1 ? left : left - 1, at });
      return left < 1 ? Math.ceil(((1 - left) / perSecond) * 1000) : 0;
    },
    size: () => buckets.size,
  };
}

/** Afterwards the account whose token it is was within its rate, or the request is refused with 429 and when to come back. */
export function limitRate(limit: RateLimit) {
  const buckets = createBuckets(limit);
  return createMiddleware<AppEnv>(async (c, next) => {
    const actor = c.get("actor");
    const waitMs = buckets.take(actor.via?.userId ?? actor.userId);
    if (waitMs > 0) {
      const retryAfterSeconds = Math.ceil(waitMs / 1000);
      throw new Problem(
        "rate_limited",
        `${actor.name} sends more than ${limit.perSecond} requests a second. Wait ${retryAfterSeconds} s, then go on more slowly.`,
        { retryAfterSeconds },
      );
    }
    await next();
  });
}
