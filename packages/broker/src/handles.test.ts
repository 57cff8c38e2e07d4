import { inspect } from "node:util";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { describe, expect, test } from "vitest";
import { createBroker, type Handle, type OpenOutcome, type OpenRequest } from "./handles.ts";
import { deleteSecret, putSecret } from "./secrets.ts";
import {
  auditOf,
  expireLease,
  givenLease,
  giveLease,
  makeKey,
  makeWorkspace as makeWorkspaceOn,
  ringOf,
  setSecret as setSecretOn,
} from "./testing/fixtures.ts";

const { sql } = await testDatabase();
const key = makeKey();
const broker = createBroker({ sql, keyring: ringOf(key) });

const makeWorkspace = () => makeWorkspaceOn(sql);
const setSecret = (workspaceId: string, capability: string, value: string) =>
  setSecretOn(sql, key, workspaceId, capability, value);

async function valueOf(outcome: OpenOutcome): Promise<string> {
  return handleOf(outcome).use(async (secret) => secret);
}

function handleOf(outcome: OpenOutcome): Handle {
  if (outcome.kind === "refused") throw new Error(outcome.message);
  return outcome.handle;
}

async function openOf(workspaceId: string, capability = "mail.send"): Promise<OpenOutcome> {
  return broker.open(await givenLease(sql, workspaceId, capability));
}

test("a handle gives its value to the body of use, and the body's answer to the caller", async () => {
  const workspaceId = await makeWorkspace();
  await setSecret(workspaceId, "mail.send", "the-secret-value");
  const outcome = await openOf(workspaceId);
  if (outcome.kind === "refused") throw new Error(outcome.message);
  expect(await outcome.handle.use(async (secret) => secret.length)).toBe(16);
  await expect(outcome.handle.use(() => Promise.reject(new Error("the body's own")))).rejects.toThrow("the body's own");
});

test("however a handle is printed, it names its capability and never shows its value", async () => {
  const workspaceId = await makeWorkspace();
  await setSecret(workspaceId, "mail.send", "the-secret-value");
  const outcome = await openOf(workspaceId);
  if (outcome.kind === "refused") throw new Error(outcome.message);
  const { handle } = outcome;
  for (const shown of [String(handle), handle.toString(), inspect(handle), JSON.parse(JSON.stringify(handle))]) {
    expect(shown).toBe("[handle mail.send]");
  }
  const everything = [
    inspect({ nested: [handle] }, { showHidden: true, depth: 9, customInspect: false }),
    JSON.stringify({ ...handle }),
  ];
  for (const field of Reflect.ownKeys(handle))
    everything.push(inspect(Reflect.get(handle, field), { showHidden: true }));
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

async function givenOpen(value = "the-secret-value", over: Partial<OpenRequest> = {}) {
  const workspaceId = await makeWorkspace();
  await setSecret(workspaceId, "mail.send", value);
  const lease = await givenLease(sql, workspaceId, "mail.send");
  const handle = handleOf(await broker.open({ ...lease, ...over }));
  return { workspaceId, lease, handle };
}

const useOf = (handle: Handle) => handle.use(async (secret) => secret);

describe("a handle that is open fails at its next use, and the refusal is in the audit,", () => {
  type Given = Awaited<ReturnType<typeof givenOpen>>;
  test.each<[string, string, (given: Given) => Promise<unknown>]>([
    ["once its lease is over", "lease_expired", ({ lease }) => expireLease(sql, lease)],
    [
      "once its lease is revoked",
      "grant_revoked",
      ({ lease }) => sql`update capability_leases set revoked_at = clock_timestamp() where call_id = ${lease.callId}`,
    ],
    [
      "once its grant is gone",
      "grant_revoked",
      ({ lease }) => sql`update runs set grants = '{}' where id = ${lease.runId}`,
    ],
    [
      "once its lease is gone",
      "lease_missing",
      ({ lease }) => sql`delete from capability_leases where call_id = ${lease.callId}`,
    ],
    [
      "once its secret is deleted",
      "secret_missing",
      ({ workspaceId }) => deleteSecret(sql, { workspaceId, name: "mail.send" }),
    ],
    [
      "once its secret is deleted and another serves the capability",
      "secret_missing",
      async ({ workspaceId }) => {
        await deleteSecret(sql, { workspaceId, name: "mail.send" });
        const other = { workspaceId, name: "another", capability: "mail.send", value: "another-value" };
        await putSecret(sql, key.publicKey, other);
      },
    ],
    [
      "once its call has ended",
      "call_ended",
      ({ lease }) =>
        sql`update tool_calls set status = 'done', finished_at = clock_timestamp() where id = ${lease.callId}`,
    ],
    [
      "once its run is in other hands",
      "call_ended",
      ({ lease }) => sql`update runs set epoch = 2 where id = ${lease.runId}`,
    ],
    [
      "once its call was begun again",
      "call_ended",
      ({ lease }) => sql`update tool_calls set attempt = 2 where id = ${lease.callId}`,
    ],
  ])("%s", async (_name, code, change) => {
    const given = await givenOpen();
    expect(await useOf(given.handle)).toBe("the-secret-value");
    await change(given);
    await expect(useOf(given.handle)).rejects.toMatchObject({ name: "HandleRefused", code });
    expect((await auditOf(sql, given.workspaceId)).at(-1)).toBe(
      `run capability.refused mail.send ${JSON.stringify({ code })}`,
    );
  });
});

describe("nothing is opened", () => {
  test("for a call that acquired nothing, nor for one of another run or workspace", async () => {
    const workspaceId = await makeWorkspace();
    await setSecret(workspaceId, "mail.send", "the-secret-value");
    const lease = await givenLease(sql, workspaceId, "mail.send");
    const other = await givenLease(sql, await makeWorkspace(), "mail.send");
    for (const [request, code] of [
      [{ ...lease, capability: "web.fetch" }, "grant_revoked"],
      [{ ...lease, callId: other.callId }, "call_ended"],
      [{ ...lease, workspaceId: other.workspaceId }, "call_ended"],
    ] as const)
      expect(await broker.open(request)).toMatchObject({ kind: "refused", code });
  });

  test("KN27: from a row that does not open, and the refusal is in the audit", async () => {
    const workspaceId = await makeWorkspace();
    await setSecret(workspaceId, "mail.send", "the-secret-value");
    await sql`update secret_versions set ciphertext = set_byte(ciphertext, 0, get_byte(ciphertext, 0) # 1)
               where secret_id = (select id from secrets where workspace_id = ${workspaceId})`;
    expect(await openOf(workspaceId)).toMatchObject({ kind: "refused", code: "secret_unreadable" });
    expect((await auditOf(sql, workspaceId)).at(-1)).toBe(
      'run capability.refused mail.send {"code":"secret_unreadable"}',
    );
  });

  test("KN31: where a refusal cannot be put into the audit, it says so instead", async () => {
    const workspaceId = await makeWorkspace();
    await sql.unsafe(`alter table audit add constraint full_disk check (action <> 'capability.refused') not valid`);
    try {
      expect(await openOf(workspaceId)).toMatchObject({ kind: "refused", code: "audit_unavailable" });
    } finally {
      await sql.unsafe(`alter table audit drop constraint full_disk`);
    }
  });
});

describe("a lease that is over", () => {
  test("is renewed by a further acquire, at opening and at use", async () => {
    let renewals = 0;
    const workspaceId = await makeWorkspace();
    await setSecret(workspaceId, "mail.send", "the-secret-value");
    const lease = await givenLease(sql, workspaceId, "mail.send");
    const renew = async () => {
      renewals += 1;
      await giveLease(sql, lease);
      return "renewed" as const;
    };
    await expireLease(sql, lease);
    const handle = handleOf(await broker.open({ ...lease, renew }));
    expect(renewals).toBe(1);
    await expireLease(sql, lease);
    expect([await useOf(handle), await useOf(handle)]).toEqual(["the-secret-value", "the-secret-value"]);
    expect(renewals).toBe(2);
  });

  test.each([
    ["refused", "lease_expired"],
    ["audit_unavailable", "audit_unavailable"],
  ] as const)("stays over where the acquire is %s, which has left its own record", async (answer, code) => {
    const { workspaceId, lease, handle } = await givenOpen("the-secret-value", { renew: async () => answer });
    const before = await auditOf(sql, workspaceId);
    await expireLease(sql, lease);
    await expect(useOf(handle)).rejects.toMatchObject({ code });
    expect(await broker.open({ ...lease, renew: async () => answer })).toMatchObject({ kind: "refused", code });
    expect(await auditOf(sql, workspaceId)).toEqual(before);
  });

  test("of a revoked grant is not renewed, however willing the renewal", async () => {
    let renewals = 0;
    const renew = async () => {
      renewals += 1;
      return "renewed" as const;
    };
    const { lease, handle } = await givenOpen("the-secret-value", { renew });
    await sql`update runs set grants = '{}' where id = ${lease.runId}`;
    await expect(useOf(handle)).rejects.toMatchObject({ code: "grant_revoked" });
    expect(renewals).toBe(0);
  });
});

test("KN25: a client that outlives a call is kept under a key that a new version changes and a new call does not", async () => {
  const { workspaceId, handle } = await givenOpen("value-one");
  const again = handleOf(await openOf(workspaceId));
  expect([again.cacheKey, again.version]).toEqual([handle.cacheKey, 1]);
  await setSecret(workspaceId, "mail.send", "value-two");
  const later = handleOf(await openOf(workspaceId));
  expect(later.version).toBe(2);
  expect(later.cacheKey).not.toBe(handle.cacheKey);
});

test("the process names what it holds: each value that is open, and the one before it", async () => {
  const own = createBroker({ sql, keyring: ringOf(key) });
  const workspaceId = await makeWorkspace();
  expect(own.heldValues()).toEqual([]);
  for (const value of ["value-one", "value-two"]) {
    await setSecret(workspaceId, "mail.send", value);
    await own.open(await givenLease(sql, workspaceId, "mail.send"));
  }
  expect(own.heldValues()).toEqual([
    { name: "mail.send", value: "value-two" },
    { name: "mail.send", value: "value-one" },
  ]);
});
