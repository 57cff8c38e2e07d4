import { createPublicKey, verify } from "node:crypto";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { AuditHead } from "./audit-heads.ts";
import { loadOrMakeAuditKey } from "./audit-key.ts";
import { appendHeads, readHeadFile } from "./head-file.ts";

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-audit-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

const head: AuditHead = {
  workspaceId: "00000000-0000-4000-8000-000000000000",
  seq: 5,
  hash: "ab".repeat(32),
  rows: 5,
  signedAt: "2026-11-30T06:00:00.000Z",
  keyId: "key",
  signature: "c2ln",
};

test("the key is made once, for this user alone, and is the same at every start", async () => {
  const folder = await makeFolder();
  const keys = await Promise.all([1, 2, 3, 4].map(() => loadOrMakeAuditKey(folder)));
  const again = await loadOrMakeAuditKey(folder);
  expect(new Set([...keys, again].map((one) => one.keyId)).size).toBe(1);
  expect(new Set([...keys, again].map((one) => one.link("x").toString("hex"))).size).toBe(1);
  expect((await stat(join(folder, "audit-key.private.json"))).mode & 0o777).toBe(0o600);
});

test("whoever has the public file can check a signature, and cannot make a chain", async () => {
  const folder = await makeFolder();
  const key = await loadOrMakeAuditKey(folder);
  const jwk = JSON.parse(await readFile(join(folder, "audit-key.public.json"), "utf8")) as Record<string, string>;
  expect(Object.keys(jwk).toSorted()).toEqual(["crv", "kty", "x"]);
  const publicKey = createPublicKey({ key: jwk, format: "jwk" });
  expect(verify(null, Buffer.from("a head"), publicKey, key.sign("a head"))).toBe(true);
  expect(key.isSignedBy("another head", key.sign("a head"))).toBe(false);
});

test("a key that others can read, or that is none, is refused", async () => {
  const folder = await makeFolder();
  await loadOrMakeAuditKey(folder);
  const path = join(folder, "audit-key.private.json");
  await chmod(path, 0o644);
  await expect(loadOrMakeAuditKey(folder)).rejects.toMatchObject({ code: "key_file_exposed" });
  await chmod(path, 0o600);
  await writeFile(path, '{"kty":"OKP","crv":"Ed25519","d":"canary","x":"canary"}');
  await expect(loadOrMakeAuditKey(folder)).rejects.toMatchObject({
    code: "key_invalid",
    message: expect.not.stringContaining("canary"),
  });
});

test("heads that were appended are read back, and lines that are none are told by number", async () => {
  const path = join(await makeFolder(), "heads.jsonl");
  expect(await readHeadFile(path)).toEqual({ heads: [], badLines: [] });
  await appendHeads(path, [head]);
  await appendHeads(path, []);
  await appendHeads(path, [{ ...head, seq: 6 }]);
  await writeFile(path, 'not a head\n{"seq":1}\n', { flag: "a" });
  expect(await readHeadFile(path)).toEqual({ heads: [head, { ...head, seq: 6 }], badLines: [3, 4] });
});
