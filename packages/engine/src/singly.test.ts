import { expect, test } from "vitest";
import { singly } from "./singly.ts";

test("one run at a time; what is asked for meanwhile, however often, is one more after it", async () => {
  let now = 0;
  let most = 0;
  let runs = 0;
  const body = async (): Promise<void> => {
    most = Math.max(most, (now += 1));
    await new Promise((resolve) => setTimeout(resolve, 2));
    now -= 1;
    runs += 1;
  };
  const { ask, settled } = singly(body, () => undefined);
  await settled();
  for (let n = 0; n < 50; n += 1) ask();
  await settled();
  expect([runs, most]).toEqual([2, 1]);
  ask();
  await settled();
  expect(runs).toBe(3);
});

test("a run that fails is told of, and the next one runs", async () => {
  const errors: unknown[] = [];
  let runs = 0;
  const { ask, settled } = singly(
    async () => {
      runs += 1;
      if (runs === 1) throw new Error("first");
    },
    (error) => errors.push(error),
  );
  ask();
  await settled();
  ask();
  await settled();
  expect(runs).toBe(2);
  expect(errors).toEqual([new Error("first")]);
});
