import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { lockFolder } from "./lock.ts";

const folder = mkdtempSync(join(tmpdir(), "countersign-lock-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a folder is one process's at a time, and the refusal names who has it", async () => {
  const lock = await lockFolder(folder);
  await expect(lockFolder(folder)).rejects.toMatchObject({ exit: "conflict" });
  await expect(lockFolder(`${folder}/.`)).rejects.toThrow(`process ${process.pid}`);
  lock.release();
  (await lockFolder(folder)).release();
});

test("of many at once one gets it", async () => {
  const all = await Promise.allSettled(Array.from({ length: 10 }, () => lockFolder(folder)));
  const held = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  expect(held).toHaveLength(1);
  for (const lock of held) lock.release();
});
