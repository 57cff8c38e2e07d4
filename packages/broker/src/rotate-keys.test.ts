import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@countersign/db/connect.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { expect, onTestFinished, test } from "vitest";
import { bootCheckKeys } from "./boot-check-keys.ts";
import { createBroker } from "./handles.ts";
import { loadKeyring, loadLiveKeyring, loadOrMakeKey, removeEarlierKey, replaceKey } from "./keyring.ts";
import { createScrubbers } from "./run-scrubber.ts";
import { openSecret } from "./open.ts";
import { pruneVersions } from "./prune-versions.ts";
import { readPublicKey } from "./public-key.ts";
import { resealSecrets, retireKey } from "./rotate-keys.ts";
import { deleteSecret, putSecret, readSealed } from "./secrets.ts";
import { auditOf, givenLease, makeKey, makeWorkspace, ringOf, setSecret } from "./testing/fixtures.ts";

const { sql, url } = await testDatabase();

/** Secrets under a key of their own: three names, one with two versions, one deleted. */
async function givenSecrets() {
  const old = makeKey();
  const workspaceId = await makeWorkspace(sql);
  await setSecret(sql, old, workspaceId, "mail.send", "mail-version-one");
  await setSecret(sql, old, workspaceId, "mail.send", "mail-version-two");
  await setSecret(sql, old, workspaceId, "slack.send", "slack-value");
  await setSecret(sql, old, workspaceId, "crm.write", "crm-deleted");
  await deleteSecret(sql, { workspaceId, name: "crm.write" });
  return { old, workspaceId };
}

async function keysOf(workspaceId: string): Promise<Record<string, number>> {
  const rows = await sql<{ key: string; n: number }[]>`
    select v.key_id as key, count(*)::int as n from secret_versions v join secrets s on s.id = v.secret_id
     where s.workspace_id = ${workspaceId} group by v.key_id`;
  return Object.fromEntries(rows.map(({ key, n }) => [key, n]));
}

test("KN28: every version is sealed to the new key, audited, and opens with it alone", async () => {
  const { old, workspaceId } = await givenSecrets();
  const fresh = makeKey();
  const before = (await auditOf(sql, workspaceId)).length;
  const outcome = await resealSecrets(sql, ringOf(old, fresh), fresh.publicKey);
  expect(outcome).toMatchObject({ unreadable: [] });
  expect(await keysOf(workspaceId)).toEqual({ [fresh.publicKey.keyId]: 4 });
  const row = await readSealed(sql, { workspaceId, capability: "mail.send" });
  if (row === undefined) throw new Error("the secret is gone");
  expect(row.identity.version).toBe(2);
  expect(openSecret(ringOf(fresh), row.identity, row.sealed)).toBe("mail-version-two");
  expect(await bootCheckKeys(sql, ringOf(old))).toMatchObject({ kind: "keys_missing" });
  expect(await bootCheckKeys(sql, ringOf(fresh))).toEqual({ kind: "ok" });
  const lines = (await auditOf(sql, workspaceId)).slice(before);
  expect(lines.map((line) => line.split(" ").slice(0, 3).join(" ")).toSorted()).toEqual([
    "system secret.resealed crm.write",
    "system secret.resealed mail.send",
    "system secret.resealed mail.send",
    "system secret.resealed slack.send",
  ]);
  expect(await resealSecrets(sql, ringOf(fresh), fresh.publicKey)).toEqual({ resealed: 0, unreadable: [] });
});

test("KN28: a rotation that is broken off at any row goes on where it was, and nothing is unreadable in between", async () => {
  const { old, workspaceId } = await givenSecrets();
  const fresh = makeKey();
  const ring = ringOf(old, fresh);
  for (const left of [3, 2, 1]) {
    await sql.unsafe(`
      create function break_off() returns trigger language plpgsql as $$ begin
        if (select count(*) from secret_versions where key_id = '${old.publicKey.keyId}') <= ${left} then raise exception 'broken off'; end if;
        return new; end $$;
      create trigger break_off before update on secret_versions for each row when (old.key_id = '${old.publicKey.keyId}') execute function break_off();`);
    await expect(resealSecrets(sql, ring, fresh.publicKey)).rejects.toThrow("broken off");
    await sql.unsafe(`drop function break_off() cascade`);
    expect((await keysOf(workspaceId))[old.publicKey.keyId]).toBe(left);
    const row = await readSealed(sql, { workspaceId, capability: "mail.send" });
    expect(row && openSecret(ring, row.identity, row.sealed)).toBe("mail-version-two");
  }
  expect(await resealSecrets(sql, ring, fresh.publicKey)).toMatchObject({ resealed: 1 });
  expect(await keysOf(workspaceId)).toEqual({ [fresh.publicKey.keyId]: 4 });
});

test("two processes that rotate at once seal each row once", async () => {
  const { old, workspaceId } = await givenSecrets();
  const fresh = makeKey();
  const ring = ringOf(old, fresh);
  const elsewhere = connect(url, { max: 2 });
  onTestFinished(() => elsewhere.end());
  await Promise.all([resealSecrets(sql, ring, fresh.publicKey), resealSecrets(elsewhere, ring, fresh.publicKey)]);
  expect(await keysOf(workspaceId)).toEqual({ [fresh.publicKey.keyId]: 4 });
  const resealed = (await auditOf(sql, workspaceId)).filter((line) => line.includes("secret.resealed"));
  expect(resealed).toHaveLength(4);
});

test("a row that the ring does not open is named and left, and its key cannot be retired", async () => {
  const { old, workspaceId } = await givenSecrets();
  const [lost, fresh] = [makeKey(), makeKey()];
  await setSecret(sql, lost, workspaceId, "google.oauth", "sealed-elsewhere");
  const { unreadable } = await resealSecrets(sql, ringOf(old, fresh), fresh.publicKey);
  expect(unreadable.filter((one) => one.workspaceId === workspaceId)).toEqual([
    { workspaceId, name: "google.oauth", version: 1, keyId: lost.publicKey.keyId, code: "key_unknown" },
  ]);
  expect(await retireKey(sql, lost.publicKey.keyId)).toEqual({ kind: "in_use", references: 1 });
  expect(await retireKey(sql, old.publicKey.keyId)).toEqual({ kind: "retired" });
  await setSecret(sql, fresh, workspaceId, "google.oauth", "set-again");
  expect(await retireKey(sql, lost.publicKey.keyId)).toEqual({ kind: "in_use", references: 1 });
  await pruneVersions(sql);
  expect(await retireKey(sql, lost.publicKey.keyId)).toEqual({ kind: "retired" });
});

test("a key is retired at zero references only, and nothing is sealed to it afterwards", async () => {
  const { old, workspaceId } = await givenSecrets();
  const fresh = makeKey();
  expect(await retireKey(sql, "never-seen")).toEqual({ kind: "not_found" });
  expect(await retireKey(sql, old.publicKey.keyId)).toEqual({ kind: "in_use", references: 4 });
  await resealSecrets(sql, ringOf(old, fresh), fresh.publicKey);
  expect(await retireKey(sql, old.publicKey.keyId)).toEqual({ kind: "retired" });
  expect(await retireKey(sql, old.publicKey.keyId)).toEqual({ kind: "already" });
  const late = { workspaceId, name: "late", capability: "late.send", value: "sealed-too-late" };
  await expect(putSecret(sql, old.publicKey, late)).rejects.toMatchObject({ code: "key_retired" });
  expect(await putSecret(sql, fresh.publicKey, late)).toMatchObject({ kind: "stored" });
});

test("a secret that is being stored under a key while it is retired is counted or refused, never lost", async () => {
  const old = makeKey();
  const workspaceId = await makeWorkspace(sql);
  await setSecret(sql, old, workspaceId, "mail.send", "mail-value");
  await deleteSecret(sql, { workspaceId, name: "mail.send" });
  await pruneVersions(sql);
  const secret = { workspaceId, name: "slack", capability: "slack.send", value: "stored-meanwhile" };
  const [put, retired] = await Promise.allSettled([
    putSecret(sql, old.publicKey, secret),
    retireKey(sql, old.publicKey.keyId),
  ]);
  if (retired.status === "rejected") throw retired.reason;
  if (put.status === "fulfilled") expect(retired.value).toEqual({ kind: "in_use", references: 1 });
  else expect(retired.value).toEqual({ kind: "retired" });
});

test("a put that holds its key is waited for by the retirement, which then counts it", async () => {
  const old = makeKey();
  const workspaceId = await makeWorkspace(sql);
  await setSecret(sql, old, workspaceId, "mail.send", "mail-value");
  let retirement: Promise<unknown> = Promise.resolve();
  await transaction(sql, async (tx) => {
    await tx`select from master_keys where key_id = ${old.publicKey.keyId} for share`;
    retirement = retireKey(sql, old.publicKey.keyId);
    retirement.catch(() => undefined);
    for (;;) {
      await tx`select pg_stat_clear_snapshot()`;
      const waiting =
        await tx`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      if (waiting.length > 0) break;
    }
    await tx`
      insert into secret_versions select secret_id, 2, key_id, ephemeral_public_key, sealed_data_key, data_key_nonce, nonce,
             ciphertext, clock_timestamp(), null, capability
        from secret_versions where key_id = ${old.publicKey.keyId}`;
  });
  expect(await retirement).toEqual({ kind: "in_use", references: 2 });
});

test("earlier and deleted versions are pruned once no live run could have acquired them", async () => {
  const { workspaceId, old } = await givenSecrets();
  const lease = await givenLease(sql, workspaceId, "mail.send");
  await pruneVersions(sql);
  expect(await keysOf(workspaceId)).toEqual({ [old.publicKey.keyId]: 3 });
  await sql`update runs set status = 'completed', finished_at = clock_timestamp() where id = ${lease.runId}`;
  await pruneVersions(sql);
  expect(await keysOf(workspaceId)).toEqual({ [old.publicKey.keyId]: 2 });
  expect(
    await putSecret(sql, old.publicKey, {
      workspaceId,
      name: "crm.write",
      capability: "crm.write",
      value: "revived-value",
    }),
  ).toMatchObject({
    version: 2,
  });
});

test("a secret that came to serve another capability is still sealed to a new key", async () => {
  const [old, fresh] = [makeKey(), makeKey()];
  const workspaceId = await makeWorkspace(sql);
  for (const capability of ["mail.send", "mail.read"])
    await putSecret(sql, old.publicKey, { workspaceId, name: "mailbox", capability, value: `for ${capability}` });
  const { unreadable } = await resealSecrets(sql, ringOf(old, fresh), fresh.publicKey);
  expect(unreadable.filter((one) => one.workspaceId === workspaceId)).toEqual([]);
  expect(await keysOf(workspaceId)).toEqual({ [fresh.publicKey.keyId]: 2 });
});

test("the key folder keeps the earlier key beside the new one until it is removed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "countersign-keys-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const first = await loadOrMakeKey(folder);
  const second = await replaceKey(folder);
  expect(second.publicKey.keyId).not.toBe(first.publicKey.keyId);
  expect((await readPublicKey(folder)).keyId).toBe(second.publicKey.keyId);
  const third = await replaceKey(folder);
  const { current, keyring } = await loadKeyring(folder);
  expect(current.publicKey.keyId).toBe(third.publicKey.keyId);
  expect([...keyring.keys()].toSorted()).toEqual([first, second, third].map((one) => one.publicKey.keyId).toSorted());
  for (const name of (await readdir(folder)).filter((one) => one !== ".gitignore"))
    expect((await readFile(join(folder, name), "utf8")).includes('"d"')).toBe(name !== "broker-key.public.json");

  await removeEarlierKey(folder, first.publicKey.keyId);
  await removeEarlierKey(folder, third.publicKey.keyId);
  expect([...(await loadKeyring(folder)).keyring.keys()].toSorted()).toEqual(
    [second, third].map((one) => one.publicKey.keyId).toSorted(),
  );
});

test("KN28: a worker that runs during a rotation reads the new key when it meets it, to open and to scrub", async () => {
  const folder = await mkdtemp(join(tmpdir(), "countersign-keys-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { current, keyring, refresh } = await loadLiveKeyring(folder);
  const workspaceId = await makeWorkspace(sql);
  await setSecret(sql, current, workspaceId, "mail.send", "before-rotation");
  const lease = await givenLease(sql, workspaceId, "mail.send");
  const fresh = await replaceKey(folder);
  await setSecret(sql, fresh, workspaceId, "mail.send", "after-rotation");

  const stiff = createBroker({ sql, keyring: ringOf(current) });
  expect(await stiff.open(lease)).toMatchObject({ kind: "refused", code: "key_unknown" });
  const options = { sql, keyring, refreshKeyring: refresh };
  const scrubber = await createScrubbers({ ...options, heldValues: () => [] }).scrubberOf(lease.runId);
  expect(scrubber.scrub("before-rotation after-rotation")).toBe("[redacted mail.send] [redacted mail.send]");
  const opened = await createBroker(options).open(lease);
  expect(opened.kind === "opened" && (await opened.handle.use(async (value) => value))).toBe("after-rotation");
});
