/** From now on this process takes it to be so much later, or earlier, than it is. Timers and `performance` run as before. */
export function skewClock(ms: number): void {
  if (ms === 0) return;
  const now = Date.now;
  globalThis.Date = new Proxy(Date, {
    construct: (target, args: [number?], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now() + ms] : args, newTarget) as Date,
    get: (target, key, receiver) =>
      key === "now" ? () => now() + ms : (Reflect.get(target, key, receiver) as unknown),
  });
}
