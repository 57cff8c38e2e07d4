import { expect, test } from "vitest";
import { decide } from "./decide.ts";
import { drawCase } from "./testing/draw.ts";
import { seededDraw } from "./testing/seeded-draw.ts";
import { now } from "./testing/make-call.ts";
import { inTermsOfReference, referenceVerdict } from "./testing/reference.ts";

const seeds = [1, 2, 3, 4];
const draws = 5_000;

test.each(seeds)("the gate says what the table's words say, on everything that can be drawn (seed %i)", (seed) => {
  const draw = seededDraw(seed);
  const rows = new Set<string>();
  for (let round = 0; round < draws; round += 1) {
    const { call, policy } = drawCase(draw);
    const found = inTermsOfReference(decide(call, policy, now));
    const expected = referenceVerdict(call, policy, now);
    // Deep comparison of all of them would take most of the time.
    if (JSON.stringify(found) !== JSON.stringify(expected))
      expect({ round, found }).toEqual({ round, found: expected });
    rows.add(found.row);
  }
  const all = ["1a", "1b", ...Array.from({ length: 22 }, (_, index) => String(index + 3)), "afterwards"];
  expect([...rows].toSorted()).toEqual(all.toSorted());
});
