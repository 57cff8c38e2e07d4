import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { learnTime, listenToClock, momentIn, serverNow } from "./server-clock.ts";

const own = Date.parse("2026-06-01T12:00:00.400Z");
const at = (ms: number): string => new Date(own + ms).toUTCString();

beforeEach(() => {
  vi.useFakeTimers({ now: own, toFake: ["Date"] });
  learnTime(at(0));
});
afterEach(() => void vi.useRealTimers());

test.each([26, -26])(
  "a browser that is off by %i hours goes by the server's clock, and lengths of time count from it",
  (hours) => {
    learnTime(at(hours * 3_600_000));
    expect(Math.abs(serverNow() - own - hours * 3_600_000)).toBeLessThan(1_000);
    expect(Math.abs(Date.parse(momentIn(60_000)) - own - hours * 3_600_000 - 60_000)).toBeLessThan(1_000);
  },
);

test("seconds on the way change nothing, a clock that was set does, and whoever shows times is told", () => {
  let told = 0;
  const stop = listenToClock(() => (told += 1));
  learnTime(at(-2_000));
  learnTime(null);
  learnTime("not a date");
  expect({ now: serverNow(), told }).toEqual({ now: own, told: 0 });
  learnTime(at(3_600_000));
  expect(told).toBe(1);
  vi.setSystemTime(own + 3_600_000);
  learnTime(at(3_600_000));
  expect({ now: serverNow(), told }).toEqual({ now: own + 3_600_000, told: 2 });
  stop();
});
