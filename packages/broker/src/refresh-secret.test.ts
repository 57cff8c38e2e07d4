import { connect } from "@countersign/db/connect.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, onTestFinished, test } from "vitest";
import { openSecret } from "./open.ts";
import { refreshSecret } from "./refresh-secret.ts";
import { deleteSecret, readSealed } from "./secrets.ts";
import { auditOf, makeKey, makeWorkspace, ringOf, setSecret } from "./testing/fixtures.ts";

const { sql, url } = await testDatabase();
const key = makeKey();

async function givenToken() {
  const workspaceId = await makeWorkspace(sql);
  await setSecret(sql, key, workspaceId, "google.oauth", "token-one");
  return { workspaceId, capability: "google.oauth", version: 1 };
}

async function current(place: { workspaceId: string; capability: string }): Promise<string | undefined> {
  const row = await readSealed(sql, place);
  return row && `${row.identity.version} ${openSecret(ringOf(key), row.identity, row.sealed)}`;
}

test("KN29: of two steps whose token has run out one refreshes, and both go on with its result", async () => {
  const stale = await givenToken();
  const elsewhere = connect(url, { max: 2 });
  onTestFinished(() => elsewhere.end());
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<string>();
  let requests = 0;
  const refresh = () => {
    requests += 1;
    asked.resolve();
    return answer.promise;
  };
  const first = refreshSecret(sql, key.publicKey, stale, refresh, { pollMs: 1 });
  await asked.promise;
  const others = [sql, elsewhere, elsewhere].map((on) =>
    refreshSecret(on, key.publicKey, stale, refresh, { pollMs: 1 }),
  );
  answer.resolve("token-two");
  expect(await first).toEqual({ kind: "newer", isOurs: true });
  for (const other of await Promise.all(others)) expect(other).toEqual({ kind: "newer", isOurs: false });
  expect(requests).toBe(1);
  expect(await current(stale)).toBe("2 token-two");
  expect((await auditOf(sql, stale.workspaceId)).at(-1)).toBe(
    'system secret.refreshed google.oauth {"capability":"google.oauth","version":2}',
  );
});

test("a refresh that fails gives its turn to the next at once", async () => {
  const stale = await givenToken();
  const failing = () => Promise.reject(new Error("the provider said no"));
  await expect(refreshSecret(sql, key.publicKey, stale, failing)).rejects.toThrow("the provider said no");
  expect(await refreshSecret(sql, key.publicKey, stale, async () => "token-two")).toEqual({
    kind: "newer",
    isOurs: true,
  });
});

test("a refresh whose process died is taken over when its time has passed", async () => {
  const stale = await givenToken();
  await sql`update secrets set refreshing_until = clock_timestamp() + interval '1 hour' where workspace_id = ${stale.workspaceId}`;
  const refresh = async () => "token-two";
  expect(await refreshSecret(sql, key.publicKey, stale, refresh, { limitMs: 0 })).toEqual({ kind: "timeout" });
  await sql`update secrets set refreshing_until = clock_timestamp() - interval '1 second' where workspace_id = ${stale.workspaceId}`;
  expect(await refreshSecret(sql, key.publicKey, stale, refresh)).toEqual({ kind: "newer", isOurs: true });
});

test("a secret that a person set during the refresh stays, and one they deleted stays deleted", async () => {
  const [set, deleted] = [await givenToken(), await givenToken()];
  const outcome = await refreshSecret(sql, key.publicKey, set, async () => {
    await setSecret(sql, key, set.workspaceId, "google.oauth", "set-by-a-person");
    return "token-two";
  });
  expect(outcome).toEqual({ kind: "newer", isOurs: false });
  expect(await current(set)).toBe("2 set-by-a-person");

  const other = await refreshSecret(sql, key.publicKey, deleted, async () => {
    await deleteSecret(sql, { workspaceId: deleted.workspaceId, name: "google.oauth" });
    return "token-two";
  });
  expect(other).toEqual({ kind: "secret_missing" });
  expect(await current(deleted)).toBeUndefined();
  expect(await refreshSecret(sql, key.publicKey, deleted, async () => "token-two")).toEqual({ kind: "secret_missing" });
});

test("whoever comes with a version that is old already asks nobody", async () => {
  const stale = await givenToken();
  await setSecret(sql, key, stale.workspaceId, "google.oauth", "token-two");
  const refresh = () => Promise.reject(new Error("not to be asked"));
  expect(await refreshSecret(sql, key.publicKey, stale, refresh)).toEqual({ kind: "newer", isOurs: false });
});
