import { readFileSync } from "node:fs";
import { join } from "node:path";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { repositoryRoot } from "../support/repository.ts";
import { brokenEngines, patchFunctions } from "./broken/engines.ts";
import { applyPatches } from "./broken/patch.ts";
import { proveRaces } from "./races.ts";

const { url } = await testDatabase();

test.each(Object.entries(brokenEngines))("the fault of %s still fits the sources", (_name, { patches }) => {
  for (const file of new Set(patches.map((patch) => patch.file)))
    expect(applyPatches(file, readFileSync(join(repositoryRoot, file), "utf8"), patches)).not.toBe("");
});

test("the races notice a decision that locks the run in the statement that looks whether it may decide", async () => {
  await patchFunctions(url, "lock-and-guard-in-one-statement");
  const { violations } = await proveRaces({ url, only: ["approve", "deny"], stopsEarly: true });
  expect(violations).toEqual([
    expect.stringContaining("answered decided, decided, one at a time it is decided, settled"),
  ]);
});
