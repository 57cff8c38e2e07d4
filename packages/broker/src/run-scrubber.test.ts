import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { createBroker } from "./handles.ts";
import { createScrubbers } from "./run-scrubber.ts";
import { deleteSecret } from "./secrets.ts";
import { givenLease, makeKey, makeWorkspace, ringOf, setSecret } from "./testing/fixtures.ts";

const { sql } = await testDatabase();
const key = makeKey();
const keyring = ringOf(key);

/** As a process that has just started has them: it holds nothing. */
function afterRestart() {
  return createScrubbers({ sql, keyring, heldValues: () => [] });
}

test("after a restart a run is scrubbed of what its leases lent it, and of nothing else", async () => {
  const workspaceId = await makeWorkspace(sql);
  await setSecret(sql, key, workspaceId, "mail.send", "mail-canary");
  await setSecret(sql, key, workspaceId, "slack.send", "slack-canary");
  const { runId } = await givenLease(sql, workspaceId, "mail.send");
  const scrubber = await afterRestart().scrubberOf(runId);
  expect(scrubber.scrub("mail-canary slack-canary")).toBe("[redacted mail.send] slack-canary");
});

test("every version that was current while the run lived is taken out, also of a deleted secret, and no earlier one", async () => {
  const workspaceId = await makeWorkspace(sql);
  for (const value of ["version-one", "version-two"]) await setSecret(sql, key, workspaceId, "mail.send", value);
  const { runId } = await givenLease(sql, workspaceId, "mail.send");
  await setSecret(sql, key, workspaceId, "mail.send", "version-three");
  await deleteSecret(sql, { workspaceId, name: "mail.send" });
  const scrubber = await afterRestart().scrubberOf(runId);
  expect(scrubber.scrub("version-one, version-two, version-three")).toBe(
    "version-one, [redacted mail.send], [redacted mail.send]",
  );
});

test("what a run acquires later, and what is set later, is known to the next scrubber", async () => {
  const workspaceId = await makeWorkspace(sql);
  await setSecret(sql, key, workspaceId, "mail.send", "mail-canary");
  await setSecret(sql, key, workspaceId, "slack.send", "slack-canary");
  const { runId } = await givenLease(sql, workspaceId, "mail.send");
  const scrubbers = afterRestart();
  expect((await scrubbers.scrubberOf(runId)).scrub("slack-canary")).toBe("slack-canary");
  await givenLease(sql, workspaceId, "slack.send", { runId });
  expect((await scrubbers.scrubberOf(runId)).scrub("slack-canary")).toBe("[redacted slack.send]");
  await setSecret(sql, key, workspaceId, "slack.send", "slack-rotated");
  expect((await scrubbers.scrubberOf(runId)).scrub("slack-rotated")).toBe("[redacted slack.send]");
});

test("a run is scrubbed of what the process itself holds: other workspaces' open secrets and its own configuration", async () => {
  const [mine, theirs] = [await makeWorkspace(sql), await makeWorkspace(sql)];
  await setSecret(sql, key, theirs, "mail.send", "their-canary");
  const broker = createBroker({ sql, keyring });
  await broker.open(await givenLease(sql, theirs, "mail.send"));
  const own = { name: "database password", value: "database-canary" };
  const { scrubberOf } = createScrubbers({ sql, keyring, heldValues: () => [...broker.heldValues(), own] });
  const { runId } = await givenLease(sql, mine, "slack.send");
  expect((await scrubberOf(runId)).scrub("their-canary database-canary")).toBe(
    "[redacted mail.send] [redacted database password]",
  );
});

test("with the mark of before nothing is asked, with another all that was acquired since is known, and with none ever what the process holds", async () => {
  const workspaceId = await makeWorkspace(sql);
  await setSecret(sql, key, workspaceId, "mail.send", "mail-canary");
  const { runId } = await givenLease(sql, workspaceId, "mail.send");
  let asked = 0;
  const unsafe = (...given: Parameters<typeof sql.unsafe>) => {
    asked += 1;
    return sql.unsafe(...given);
  };
  const counted = new Proxy(sql, {
    get: (pool, name) => (name === "unsafe" ? unsafe : Reflect.get(pool, name)) as unknown,
  });
  let held = [{ name: "own", value: "own-canary-1" }];
  const { scrubberOf } = createScrubbers({ sql: counted, keyring, heldValues: () => held });
  const first = await scrubberOf(runId, "1");
  expect(first.scrub("mail-canary own-canary-1")).toBe("[redacted mail.send] [redacted own]");
  expect(await scrubberOf(runId, "1")).toBe(first);
  held = [{ name: "own", value: "own-canary-2" }];
  expect((await scrubberOf(runId, "1")).scrub("mail-canary own-canary-2")).toBe("[redacted mail.send] [redacted own]");
  expect(asked).toBe(1);

  await setSecret(sql, key, workspaceId, "slack.send", "slack-canary");
  await givenLease(sql, workspaceId, "slack.send", { runId });
  expect((await scrubberOf(runId, "2")).scrub("mail-canary slack-canary")).toBe(
    "[redacted mail.send] [redacted slack.send]",
  );
  expect((await scrubberOf(runId, null)).scrub("own-canary-2")).toBe("[redacted own]");
  expect(asked).toBe(2);
});

test("what could not be asked is asked again with the same mark", async () => {
  const workspaceId = await makeWorkspace(sql);
  await setSecret(sql, key, workspaceId, "mail.send", "mail-canary");
  const { runId } = await givenLease(sql, workspaceId, "mail.send");
  let isAway = true;
  const unsafe = (...given: Parameters<typeof sql.unsafe>): unknown =>
    isAway ? Promise.reject(new Error("away")) : sql.unsafe(...given);
  const failing = new Proxy(sql, {
    get: (pool, name) => (name === "unsafe" ? unsafe : Reflect.get(pool, name)) as unknown,
  });
  const { scrubberOf } = createScrubbers({ sql: failing, keyring, heldValues: () => [] });
  await expect(scrubberOf(runId, "1")).rejects.toThrow("away");
  isAway = false;
  expect((await scrubberOf(runId, "1")).scrub("mail-canary")).toBe("[redacted mail.send]");
});

test("a version that does not open hides nothing else", async () => {
  const workspaceId = await makeWorkspace(sql);
  await setSecret(sql, key, workspaceId, "mail.send", "mail-canary");
  const { runId } = await givenLease(sql, workspaceId, "mail.send");
  await setSecret(sql, makeKey(), workspaceId, "mail.send", "sealed-elsewhere");
  const scrubber = await afterRestart().scrubberOf(runId);
  expect(scrubber.scrub("mail-canary")).toBe("[redacted mail.send]");
});
