/*
 * What time it is for the server, which is what deadlines go by: a browser's own clock may be hours off.
 */

/** Less than this is how long an answer was on its way, and that its date counts whole seconds. */
const closeMs = 3_000;

let aheadMs = 0;

const listeners = new Set<() => void>();

/** The time as the server has it, in milliseconds as of `Date.now()`; this browser's own until the server has answered. */
export function serverNow(): number {
  return Date.now() + aheadMs;
}

/** That length of time from now on, as the server counts it, as a moment to send. */
export function momentIn(ms: number): string {
  return new Date(serverNow() + ms).toISOString();
}

/** Takes the time from an answer's `Date`. One that differs by no more than a few seconds changes nothing. */
export function learnTime(date: string | null): void {
  const at = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(at) || Math.abs(at - serverNow()) < closeMs) return;
  const ownIsClose = Math.abs(at - Date.now()) < closeMs;
  aheadMs = ownIsClose ? 0 : at - Date.now();
  for (const tell of listeners) tell();
}

/** Calls `onSet` whenever the time is another than was thought. Returns how to stop. */
export function listenToClock(onSet: () => void): () => void {
  listeners.add(onSet);
  return () => void listeners.delete(onSet);
}
