import { createScriptedModel } from "@countersign/engine/scripted-model.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { runEmbedded } from "./lend.ts";

const { url } = await testDatabase();

test("an engine in one's own process runs an agent whose tool writes one's own tables", async () => {
  const model = createScriptedModel({
    "lending desk": ({ results }) =>
      results.length === 0
        ? { use: [{ tool: "desk.lend", args: { thing: "drill", to: "Ann" } }] }
        : { say: `noted: ${results[0]?.content}` },
  });
  expect(await runEmbedded(url, model)).toEqual({
    output: "noted: drill is with Ann",
    lendings: [{ thing: "drill", lent_to: "Ann" }],
  });
});
