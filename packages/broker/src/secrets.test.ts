import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createConnection, createServer, type AddressInfo } from "node:net";
import { connect } from "@countersign/db/connect.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { bootCheckKeys } from "./boot-check-keys.ts";
import { makeKeyring, parsePrivateKey } from "./keyring.ts";
import { openSecret } from "./open.ts";
import { deleteSecret, listSecrets, putSecret, readSealed } from "./secrets.ts";
import { auditOf } from "./testing/fixtures.ts";

const { sql, url } = await testDatabase();

function makeKey() {
  return parsePrivateKey(
    JSON.stringify(generateKeyPairSync("x25519").privateKey.export({ format: "jwk" })),
    "a test key",
  );
}
const key = makeKey();
const { publicKey } = key;
const keyring = makeKeyring([key]);

async function makeWorkspace(): Promise<string> {
  const id = randomUUID();
  await sql`insert into workspaces (id, name) values (${id}, ${"test"})`;
  return id;
}

async function readValue(workspaceId: string, capability: string): Promise<string | undefined> {
  const row = await readSealed(sql, { workspaceId, capability });
  return row && openSecret(keyring, row.identity, row.sealed);
}

test("setting a secret again makes the next version the one that is read", async () => {
  const workspaceId = await makeWorkspace();
  const secret = { workspaceId, name: "smtp", capability: "mail.send" };
  const first = await putSecret(sql, publicKey, { ...secret, value: "first-value" });
  const second = await putSecret(sql, publicKey, {
    ...secret,
    value: "second-value",
    createdBy: randomUUID(),
  });
  expect(first).toMatchObject({ kind: "stored", version: 1 });
  expect(second).toEqual({ ...first, version: 2 });
  expect(await readValue(workspaceId, "mail.send")).toBe("second-value");
});

test("many at once each get a version of their own, also for the very first", async () => {
  const workspaceId = await makeWorkspace();
  const values = Array.from({ length: 8 }, (_, at) => `value-number-${at}`);
  const put = (value: string) =>
    putSecret(sql, publicKey, { workspaceId, name: "smtp", capability: "mail.send", value });
  const outcomes = await Promise.all(values.map(put));
  const versions = outcomes.map((outcome) => (outcome.kind === "stored" ? outcome.version : 0));
  expect(new Set(versions)).toEqual(new Set([1, 2, 3, 4, 5, 6, 7, 8]));
  expect(await readValue(workspaceId, "mail.send")).toBe(values[versions.indexOf(8)]);
});

test("a capability is served by one secret; a second name for it is told which", async () => {
  const workspaceId = await makeWorkspace();
  const put = (name: string) =>
    putSecret(sql, publicKey, { workspaceId, name, capability: "mail.send", value: "some-value" });
  const outcomes = await Promise.all(["a", "b", "c"].map(put));
  const stored = await listSecrets(sql, workspaceId);
  expect(stored).toHaveLength(1);
  expect(outcomes.filter((outcome) => outcome.kind === "stored")).toHaveLength(1);
  const taken = outcomes.filter((outcome) => outcome.kind === "capability_taken");
  expect(taken).toEqual([1, 2].map(() => ({ kind: "capability_taken", name: stored[0]?.name })));
});

test("a refused value leaves nothing behind and the earlier version in force", async () => {
  const workspaceId = await makeWorkspace();
  const secret = { workspaceId, name: "smtp", capability: "mail.send" };
  await expect(putSecret(sql, publicKey, { ...secret, value: "short" })).rejects.toMatchObject({
    code: "secret_too_short",
  });
  expect(await sql`select from secrets where workspace_id = ${workspaceId}`).toHaveLength(0);
  await putSecret(sql, publicKey, { ...secret, value: "long enough" });
  await expect(putSecret(sql, publicKey, { ...secret, value: "short" })).rejects.toMatchObject({
    code: "secret_too_short",
  });
  expect(await readValue(workspaceId, "mail.send")).toBe("long enough");
});

test("a workspace sees its own secrets only", async () => {
  const [mine, theirs] = [await makeWorkspace(), await makeWorkspace()];
  await putSecret(sql, publicKey, {
    workspaceId: mine,
    name: "smtp",
    capability: "mail.send",
    value: "mine-only",
  });
  expect(await readSealed(sql, { workspaceId: theirs, capability: "mail.send" })).toBeUndefined();
  expect(await listSecrets(sql, theirs)).toEqual([]);
});

test("a list tells names and versions and holds nothing that could be opened", async () => {
  const workspaceId = await makeWorkspace();
  await putSecret(sql, publicKey, {
    workspaceId,
    name: "smtp",
    capability: "mail.send",
    value: "listed-value",
  });
  const [summary] = await listSecrets(sql, workspaceId);
  expect(summary).toEqual({
    id: expect.any(String),
    name: "smtp",
    capability: "mail.send",
    version: 1,
    keyId: publicKey.keyId,
    createdAt: expect.any(Date),
    setAt: expect.any(Date),
  });
});

test("a deleted secret is not read, and lives again when somebody sets it", async () => {
  const workspaceId = await makeWorkspace();
  const secret = { workspaceId, name: "smtp", capability: "mail.send" };
  await putSecret(sql, publicKey, { ...secret, value: "first-value" });
  const deletedBy = randomUUID();
  expect(await deleteSecret(sql, { ...secret, deletedBy })).toEqual({ kind: "deleted" });
  expect(await deleteSecret(sql, { ...secret, deletedBy })).toEqual({ kind: "not_found" });
  expect(await readSealed(sql, secret)).toBeUndefined();
  expect(await listSecrets(sql, workspaceId)).toEqual([]);
  const [tombstone] = await sql`select deleted_by from secrets where workspace_id = ${workspaceId}`;
  expect(tombstone?.deleted_by).toBe(deletedBy);
  expect(await putSecret(sql, publicKey, { ...secret, value: "second-value" })).toMatchObject({ version: 2 });
  expect(await readValue(workspaceId, "mail.send")).toBe("second-value");
});

test("who set and who deleted a secret is in the audit, by name and version alone", async () => {
  const workspaceId = await makeWorkspace();
  const secret = { workspaceId, name: "smtp", capability: "mail.send" };
  await putSecret(sql, publicKey, { ...secret, value: "first-value", createdBy: randomUUID() });
  await putSecret(sql, publicKey, { ...secret, value: "second-value" });
  await deleteSecret(sql, { ...secret, deletedBy: randomUUID() });
  await deleteSecret(sql, { ...secret, deletedBy: randomUUID() });
  expect(await auditOf(sql, workspaceId)).toEqual([
    'user secret.set smtp {"capability":"mail.send","version":1}',
    'system secret.set smtp {"capability":"mail.send","version":2}',
    'user secret.deleted smtp {"capability":"mail.send"}',
  ]);
});

test("a secret whose audit row cannot be written is neither stored nor deleted", async () => {
  const workspaceId = await makeWorkspace();
  const secret = { workspaceId, name: "smtp", capability: "mail.send" };
  await putSecret(sql, publicKey, { ...secret, value: "first-value" });
  await sql.unsafe(`alter table audit add constraint full_disk check (subject is distinct from 'smtp') not valid`);
  try {
    await expect(putSecret(sql, publicKey, { ...secret, value: "second-value" })).rejects.toThrow("full_disk");
    await expect(deleteSecret(sql, secret)).rejects.toThrow("full_disk");
  } finally {
    await sql.unsafe(`alter table audit drop constraint full_disk`);
  }
  expect(await readValue(workspaceId, "mail.send")).toBe("first-value");
});

test("a secret never crosses the wire to the database in any form", async () => {
  const value = 'canary/+"\n-on-the-wire';
  const workspaceId = await makeWorkspace();
  const target = new URL(url);
  const sent: Buffer[] = [];
  const relay = createServer((client) => {
    const upstream = createConnection({ host: target.hostname, port: Number(target.port || 5432) });
    client.on("data", (chunk: Buffer) => sent.push(chunk));
    client.pipe(upstream).pipe(client);
    client.on("error", () => upstream.destroy());
    upstream.on("error", () => client.destroy());
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  const { port } = relay.address() as AddressInfo;
  const relayed = connect(Object.assign(new URL(url), { hostname: "127.0.0.1", port: String(port) }).href, { max: 1 });
  try {
    await putSecret(relayed, publicKey, {
      workspaceId,
      name: "wired",
      capability: "mail.send",
      value,
    });
  } finally {
    await relayed.end();
    relay.close();
  }
  const wire = Buffer.concat(sent);
  expect(wire.includes("wired")).toBe(true);
  const forms = [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)];
  const bytes = Buffer.from(value);
  forms.push(bytes.toString("hex"), bytes.toString("base64").slice(0, 24), "canary");
  for (const form of forms) expect(wire.includes(form)).toBe(false);
});

test("boot names the secrets whose key the worker does not hold", async () => {
  const workspaceId = await makeWorkspace();
  const newKey = makeKey();
  await putSecret(sql, newKey.publicKey, {
    workspaceId,
    name: "sealed elsewhere",
    capability: "im.send",
    value: "some-value",
  });
  await putSecret(sql, publicKey, {
    workspaceId,
    name: "sealed here",
    capability: "mail.send",
    value: "some-value",
  });

  expect(await bootCheckKeys(sql, makeKeyring([key, newKey]))).toEqual({ kind: "ok" });
  const check = await bootCheckKeys(sql, keyring);
  const expected = {
    workspaceId,
    name: "sealed elsewhere",
    version: 1,
    keyId: newKey.publicKey.keyId,
  };
  expect(check).toMatchObject({ kind: "keys_missing", secrets: [expected] });
  expect(check.kind === "keys_missing" && check.message).toContain(
    `sealed elsewhere, version 1, of workspace ${workspaceId}`,
  );
  expect(await bootCheckKeys(sql, makeKeyring([]))).toMatchObject({
    kind: "keys_missing",
    message: expect.stringContaining("holds no key"),
  });

  await putSecret(sql, publicKey, {
    workspaceId,
    name: "sealed elsewhere",
    capability: "im.send",
    value: "set again",
  });
  expect(await bootCheckKeys(sql, keyring)).toEqual({ kind: "ok" });
});

test("KN28: boot names a secret whose row was changed, though its key is there", async () => {
  const workspaceId = await makeWorkspace();
  const put = (name: string) =>
    putSecret(sql, publicKey, { workspaceId, name, capability: name, value: `value of ${name}` });
  await put("mail.send");
  await put("slack.send");
  await sql`
    update secret_versions v set ciphertext = set_byte(ciphertext, 0, get_byte(ciphertext, 0) # 1)
      from secrets s where s.id = v.secret_id and s.workspace_id = ${workspaceId} and s.name = 'slack.send'`;
  const check = await bootCheckKeys(sql, keyring);
  expect(check).toMatchObject({
    kind: "secrets_unreadable",
    secrets: [{ workspaceId, name: "slack.send", version: 1, keyId: publicKey.keyId }],
    message: expect.stringContaining(`slack.send, version 1, of workspace ${workspaceId}`),
  });
  await put("slack.send");
  expect(await bootCheckKeys(sql, keyring)).toEqual({ kind: "ok" });
});
