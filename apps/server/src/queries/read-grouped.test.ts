import type { Queryable } from "@countersign/db/connect.ts";
import { expect, test } from "vitest";
import { readGrouped, readOwned } from "./read-grouped.ts";

const pool = {} as Queryable;
const transaction = {} as Queryable;

test("what is asked for while a read is under way is read by the next, in one go, and never by one that began before", async () => {
  const begun: (readonly string[])[] = [];
  const ends: (() => void)[] = [];
  const read = readGrouped(async (_sql, keys: readonly string[]) => {
    begun.push(keys);
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.push(resolve);
    await promise;
    return keys.map((key) => `row of ${key}`);
  });
  const first = read(pool, "a");
  await expect.poll(() => begun).toEqual([["a"]]);
  const others = ["a", "b", "c"].map((key) => read(pool, key));
  const apart = read(transaction, "d");
  await expect.poll(() => begun).toEqual([["a"], ["d"]]);
  ends[0]?.();
  expect(await first).toBe("row of a");
  await expect.poll(() => begun).toEqual([["a"], ["d"], ["a", "b", "c"]]);
  for (const end of ends) end();
  expect(await Promise.all(others)).toEqual(["row of a", "row of b", "row of c"]);
  expect(await apart).toBe("row of d");
});

test("a key that makes the read fail fails alone", async () => {
  const read = readGrouped(async (_sql, keys: readonly string[]) => {
    await Promise.resolve();
    if (keys.includes("bad")) throw new Error("no such key");
    return keys;
  });
  const answers = await Promise.allSettled(["a", "b", "bad", "c"].map((key) => read(pool, key)));
  expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
});

test("what another workspace has is not found, whatever is read beside it", async () => {
  const rows = [
    { workspaceId: "w1", id: "1" },
    { workspaceId: "w2", id: "2" },
  ];
  const asked = [...rows, { workspaceId: "w1", id: "2" }, { workspaceId: "w2", id: "2" }];
  const found = await readOwned(asked, async (workspaceId, ids) =>
    rows.filter((row) => row.workspaceId === workspaceId && ids.includes(row.id)),
  );
  expect(found).toEqual([rows[0], rows[1], undefined, rows[1]]);
});
