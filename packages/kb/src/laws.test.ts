import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { laws } from "./testing/laws.ts";
import { oddText, usualText } from "./testing/pages.ts";

const text = fc.oneof(oddText, usualText);

describe("of every page and every edit of it", () => {
  test.each(Object.entries(laws))(
    "%s",
    (_name, breaks) => {
      fc.assert(
        fc.property(text, text, text, (a, b, c) => {
          expect(breaks(a, b, c)).toBeUndefined();
        }),
        { numRuns: 1_000 },
      );
    },
    60_000,
  );
});
