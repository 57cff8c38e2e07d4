import { generateKeyPairSync, randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { createBroker, type OpenOutcome } from "./handles.ts";
import { makeKeyring, parsePrivateKey } from "./keyring.ts";
import { putSecret } from "./secrets.ts";

const { sql } = await testDatabase();

function makeKey() {
  return parsePrivateKey(
    JSON.stringify(generateKeyPairSync("x25519").privateKey.export({ format: "jwk" })),
    "a test key",
  );
}
const key = makeKey();
const broker = createBroker({ sql, keyring: makeKeyring([key]) });

async function makeWorkspace(): Promise<string> {
  const id = randomUUID();
  await sql`insert into workspaces (id, name) values (${id}, ${"test"})`;
  return id;
}

async function setSecret(workspaceId: string, capability: string, value: string): Promise<void> {
  const outcome = await putSecret(sql, key.publicKey, {
    workspaceId,
    name: capability,
    capability,
    value,
  });
  expect(outcome.kind).toBe("stored");
}

async function valueOf(outcome: OpenOutcome): Promise<string> {
  if (outcome.kind === "refused") throw new Error(outcome.message);
  return outcome.handle.use(async (secret) => secret);
}

function openOf(workspaceId: string, capability = "mail.send"): Promise<OpenOutcome> {
  return broker.open({ workspaceId, capability, leaseId: "lease" });
}

test("a handle gives its value to the body of use, and the body's answer to the caller", async () => {
  const workspaceId = await makeWorkspace();
  await setSecret(workspaceId, "mail.send", "the-secret-value");
  const outcome = await openOf(workspaceId);
  if (outcome.kind === "refused") throw new Error(outcome.message);
  expect(await outcome.handle.use(async (secret) => secret.length)).toBe(16);
  await expect(
    outcome.handle.use(() => Promise.reject(new Error("the body's own"))),
  ).rejects.toThrow("the body's own");
});

test("however a handle is printed, it names its capability and never shows its value", async () => {
  const workspaceId = await makeWorkspace();
  await setSecret(workspaceId, "mail.send", "the-secret-value");
  const outcome = await openOf(workspaceId);
  if (outcome.kind === "refused") throw new Error(outcome.message);
  const { handle } = outcome;
  for (const shown of [
    String(handle),
    handle.toString(),
    inspect(handle),
    JSON.parse(JSON.stringify(handle)),
  ]) {
    expect(shown).toBe("[handle mail.send]");
  }
  const everything = [
    inspect({ nested: [handle] }, { showHidden: true, depth: 9, customInspect: false }),
    JSON.stringify({ ...handle }),
  ];
  for (const key of Reflect.ownKeys(handle))
    everything.push(inspect(Reflect.get(handle, key), { showHidden: true }));
  expect(everything.join("\n")).not.toContain("the-secret-value");
  expect(Object.isFrozen(handle)).toBe(true);
});

test("KN25: a secret that was set again is picked up by the next open, while an earlier handle keeps its value", async () => {
  const workspaceId = await makeWorkspace();
  await setSecret(workspaceId, "mail.send", "value-one");
  const first = await openOf(workspaceId);
  await setSecret(workspaceId, "mail.send", "value-two");
  const second = await openOf(workspaceId);
  expect([await valueOf(first), await valueOf(second)]).toEqual(["value-one", "value-two"]);
});

test("KN27: sealed parts copied from another row are refused, also when the row was open before", async () => {
  const workspaceId = await makeWorkspace();
  await setSecret(workspaceId, "mail.send", "value-of-mail");
  await setSecret(workspaceId, "llm.anthropic", "value-of-model");
  expect(await valueOf(await openOf(workspaceId))).toBe("value-of-mail");
  await sql`
    update secret_versions mine
    set key_id = theirs.key_id, ephemeral_public_key = theirs.ephemeral_public_key, sealed_data_key = theirs.sealed_data_key,
        data_key_nonce = theirs.data_key_nonce, nonce = theirs.nonce, ciphertext = theirs.ciphertext
    from secret_versions theirs
    where mine.secret_id = (select id from secrets where workspace_id = ${workspaceId} and capability = 'mail.send')
      and theirs.secret_id = (select id from secrets where workspace_id = ${workspaceId} and capability = 'llm.anthropic')`;
  expect(await openOf(workspaceId)).toMatchObject({ kind: "refused", code: "secret_unreadable" });
  expect(await valueOf(await openOf(workspaceId, "llm.anthropic"))).toBe("value-of-model");
});

test("KN27: a row moved to another capability, name or workspace is refused", async () => {
  const [workspaceId, other] = [await makeWorkspace(), await makeWorkspace()];
  await setSecret(workspaceId, "llm.anthropic", "value-of-model");
  await sql`update secrets set capability = 'mail.send' where workspace_id = ${workspaceId}`;
  expect(await openOf(workspaceId)).toMatchObject({ kind: "refused", code: "secret_unreadable" });
  await sql`update secrets set capability = 'llm.anthropic', name = 'x' where workspace_id = ${workspaceId}`;
  expect(await openOf(workspaceId, "llm.anthropic")).toMatchObject({
    kind: "refused",
    code: "secret_unreadable",
  });
  await sql`update secrets set name = 'llm.anthropic', workspace_id = ${other} where workspace_id = ${workspaceId}`;
  expect(await openOf(other, "llm.anthropic")).toMatchObject({
    kind: "refused",
    code: "secret_unreadable",
  });
});

test("a missing secret is refused with the capability and how to set it, also after it was open", async () => {
  const workspaceId = await makeWorkspace();
  const refusal = {
    kind: "refused",
    code: "secret_missing",
    message: expect.stringContaining("./countersign secrets set mail.send"),
  };
  expect(await openOf(workspaceId)).toEqual(refusal);
  await setSecret(workspaceId, "mail.send", "the-secret-value");
  expect(await valueOf(await openOf(workspaceId))).toBe("the-secret-value");
  await sql`update secrets set deleted_at = now() where workspace_id = ${workspaceId}`;
  expect(await openOf(workspaceId)).toEqual(refusal);
});

test("a secret of a key that is not in the ring is refused, naming the key", async () => {
  const workspaceId = await makeWorkspace();
  const otherKey = makeKey();
  await putSecret(sql, otherKey.publicKey, {
    workspaceId,
    name: "x",
    capability: "mail.send",
    value: "the-secret-value",
  });
  expect(await openOf(workspaceId)).toMatchObject({
    kind: "refused",
    code: "key_unknown",
    message: expect.stringContaining(otherKey.publicKey.keyId),
  });
});
