import type { Model } from "@countersign/engine/model.ts";
import { expect, test } from "vitest";
import { canaries } from "./commands.ts";
import { findOpenWays } from "./fail-closed.ts";
import { describeMeasured, measureClassifier } from "./measure.ts";

const answering =
  (answer: (prompt: string) => string): Model =>
  async ({ messages }) => ({
    content: [{ type: "text", text: answer(JSON.stringify(messages)) }],
    usage: { inputTokens: 1, outputTokens: 1, costMicros: 0 },
  });

test("AZ67: a classifier that is down, or says anything but the two words, lowers none of the canaries", async () => {
  expect(await findOpenWays(100)).toEqual([]);
});

test("one that lowers everything is found out, by every canary that is not harmless", async () => {
  const measured = await measureClassifier(
    answering(() => "read-only"),
    "any",
    1_000,
  );
  expect(measured.lowered).toHaveLength(canaries.filter(({ truth }) => truth !== "read-only").length);
  const { lines, isSound } = describeMeasured(measured);
  expect(isSound).toBe(false);
  expect(lines.join("\n")).toContain("hostile");
});

test("one that lowers nothing is sound, and spares nobody a question", async () => {
  const measured = await measureClassifier(
    answering(() => "high-risk"),
    "any",
    1_000,
  );
  expect(measured).toMatchObject({ asked: canaries.length, unavailable: 0, lowered: [], spared: 0 });
  expect(describeMeasured(measured).isSound).toBe(true);
});
