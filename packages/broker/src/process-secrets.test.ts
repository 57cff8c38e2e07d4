import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { createProcessSecrets, SecretMissing } from "./process-secrets.ts";
import { deleteSecret } from "./secrets.ts";
import { makeKey, makeWorkspace, ringOf, setSecret } from "./testing/fixtures.ts";

const { sql } = await testDatabase();
const key = makeKey();

async function given() {
  const workspaceId = await makeWorkspace(sql);
  const secrets = createProcessSecrets({ sql, keyring: ringOf(key) });
  const place = { workspaceId, capability: "llm.anthropic" };
  const set = (value: string) => setSecret(sql, key, workspaceId, "llm.anthropic", value);
  return { secrets, place, set, use: () => secrets.use(place, async (secret) => secret) };
}

test("a rotated secret is used by the next request, and each version leaves one audit row", async () => {
  const { place, set, use } = await given();
  await set("the first value");
  expect([await use(), await use()]).toEqual(["the first value", "the first value"]);
  await set("the second value");
  expect(await use()).toBe("the second value");
  const rows = await sql<{ details: object }[]>`
    select details from audit where workspace_id = ${place.workspaceId} and action = 'secret.opened' order by id`;
  expect(rows.map(({ details }) => details)).toEqual([
    { capability: "llm.anthropic", version: 1 },
    { capability: "llm.anthropic", version: 2 },
  ]);
});

test("a secret that was never set, or was deleted, is not to be had, and the refusal says how to set it", async () => {
  const { place, set, use } = await given();
  await expect(use()).rejects.toThrow(SecretMissing);
  await set("a value for now");
  await use();
  const [stored] = await sql<{ name: string }[]>`select name from secrets where workspace_id = ${place.workspaceId}`;
  await deleteSecret(sql, { workspaceId: place.workspaceId, name: stored?.name ?? "" });
  await expect(use()).rejects.toThrow("countersign secrets set llm.anthropic");
});

test("what was opened is among the values that are scrubbed", async () => {
  const { secrets, set, use } = await given();
  await set("to be scrubbed");
  await use();
  expect(secrets.heldValues().map(({ value }) => value)).toEqual(["to be scrubbed"]);
});
